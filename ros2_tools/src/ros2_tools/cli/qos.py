"""Quality of service from command line options, and from what publishers offer."""

import copy

from .verbs import arg

_CHOICES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown"),
    "durability": ("system_default", "transient_local", "volatile", "unknown"),
}
_PROFILES = "unknown system_default sensor_data services_default parameters parameter_events action_status_default"


def qos_arguments(purpose, reliability, durability, depth=None):
    """Return --qos-profile, --qos-depth, --qos-history, --qos-reliability and --qos-durability.

    :param purpose: what the profile is for, "subscribe" or "publish"
    :param reliability: what holds without the option, as are durability and depth
    """
    defaults = {"history": "keep_last", "reliability": reliability, "durability": durability}
    return (
        arg("--qos-profile", choices=_PROFILES.split(), help=f"Quality of service profile to {purpose} with"),
        arg(
            "--qos-depth",
            metavar="N",
            type=int,
            default=depth,
            help=f"Queue size to {purpose} with (overrides that of --qos-profile)",
        ),
        *(
            arg(
                f"--qos-{policy}",
                choices=choices,
                help=f"{policy.capitalize()} to {purpose} with (overrides that of --qos-profile, "
                f"default: {defaults[policy]})",
            )
            for policy, choices in _CHOICES.items()
        ),
    )


def chosen_profile(args, default):
    """Return the profile that the options ask for: a named one (else that given), changed by the others."""
    from rclpy import qos

    profile = copy.copy(qos.QoSPresetProfiles[args.qos_profile.upper()].value if args.qos_profile else default)
    for policy in _CHOICES:
        if chosen := getattr(args, f"qos_{policy}"):
            setattr(profile, policy, getattr(qos, f"{policy.capitalize()}Policy")[chosen.upper()])
    if args.qos_depth and args.qos_depth >= 0:
        profile.depth = args.qos_depth
    elif profile.durability == qos.DurabilityPolicy.TRANSIENT_LOCAL and profile.depth == 0:
        profile.depth = 1
    return profile


def fitting_profile(publishers):
    """Return a profile that receives from all these publishers; where some offer more than others, that is said."""
    from rclpy.qos import DurabilityPolicy, QoSPresetProfiles, ReliabilityPolicy

    profile = copy.copy(QoSPresetProfiles.SENSOR_DATA.value)
    for policy, strict, loose in (
        ("reliability", ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT),
        ("durability", DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE),
    ):
        offering = sum(getattr(publisher.qos_profile, policy) == strict for publisher in publishers)
        setattr(profile, policy, strict if publishers and offering == len(publishers) else loose)
        if 0 < offering < len(publishers):
            kind = f"QoS{policy.capitalize()}Policy"
            print(
                f"Some, but not all, publishers are offering {kind}.{strict.name}. "
                f"Falling back to {kind}.{loose.name} as it will connect to all publishers"
            )
    return profile
