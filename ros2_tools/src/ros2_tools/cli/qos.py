"""Quality of service from command line options."""

PROFILES = (
    "unknown",
    "system_default",
    "sensor_data",
    "services_default",
    "parameters",
    "parameter_events",
    "action_status_default",
)
_CHOICES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown"),
    "durability": ("system_default", "transient_local", "volatile", "unknown"),
}


def qos_arguments(parser, purpose, defaults, depth_default=None):
    """Declare --qos-profile, --qos-depth, --qos-history, --qos-reliability and --qos-durability.

    :param purpose: what the profile is for, "subscribe" or "publish"
    :param defaults: for each of history, reliability, durability what holds without the option
    """
    parser.add_argument("--qos-profile", choices=PROFILES, help=f"Quality of service profile to {purpose} with")
    parser.add_argument(
        "--qos-depth",
        metavar="N",
        type=int,
        default=depth_default,
        help=f"Queue size to {purpose} with (overrides that of --qos-profile)",
    )
    for policy, choices in _CHOICES.items():
        parser.add_argument(
            f"--qos-{policy}",
            choices=choices,
            help=f"{policy.capitalize()} to {purpose} with (overrides that of --qos-profile, "
            f"default: {defaults[policy]})",
        )


def preset(name):
    """Return a copy of the named profile."""
    import copy

    from rclpy.qos import QoSPresetProfiles

    return copy.copy(QoSPresetProfiles[name.upper()].value)


def override(profile, args):
    """Change a profile as the --qos- options say, and return it."""
    from rclpy.qos import DurabilityPolicy, HistoryPolicy, ReliabilityPolicy

    for policy, kinds in (
        ("history", HistoryPolicy),
        ("durability", DurabilityPolicy),
        ("reliability", ReliabilityPolicy),
    ):
        chosen = getattr(args, f"qos_{policy}")
        if chosen:
            setattr(profile, policy, kinds[chosen.upper()])
    if args.qos_depth and args.qos_depth >= 0:
        profile.depth = args.qos_depth
    elif profile.durability == DurabilityPolicy.TRANSIENT_LOCAL and profile.depth == 0:
        profile.depth = 1
    return profile


def asked_for(args):
    """Tell whether some --qos- option was given."""
    return any(value is not None for key, value in vars(args).items() if key.startswith("qos_"))
