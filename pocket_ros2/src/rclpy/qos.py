"""Quality of service: profiles, policies, and whether two profiles match."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

from .duration import Duration


class InvalidQoSProfileException(Exception):
    """Raised when a profile is made without what it needs."""

    def __init__(self, *args: Any) -> None:
        super().__init__("Invalid QoSProfile", *args)


class QoSPolicyKind(IntEnum):
    """Enum for types of QoS policies, as in rmw/qos_policy_kind.h."""

    INVALID = 1 << 0
    DURABILITY = 1 << 1
    DEADLINE = 1 << 2
    LIVELINESS = 1 << 3
    RELIABILITY = 1 << 4
    HISTORY = 1 << 5
    LIFESPAN = 1 << 6
    DEPTH = 1 << 7
    LIVELINESS_LEASE_DURATION = 1 << 8
    AVOID_ROS_NAMESPACE_CONVENTIONS = 1 << 9


def qos_policy_name_from_kind(policy_kind: QoSPolicyKind | int) -> str:
    """Return `RELIABILITY_QOS_POLICY` and the like for a kind."""
    return f"{QoSPolicyKind(policy_kind).name}_QOS_POLICY"


class QoSPolicyEnum(IntEnum):
    """Base of the policies: short, lower-case keys for the command line."""

    @classmethod
    def short_keys(cls) -> list[str]:
        """Return the values' short names."""
        return [name.lower() for name in cls.__members__]

    @classmethod
    def get_from_short_key(cls, name: str) -> int:
        """Return a value by its short name, in upper or lower case."""
        return cls[name.upper()].value

    @property
    def short_key(self) -> str:
        """The value's short name."""
        return self.name.lower()


class HistoryPolicy(QoSPolicyEnum):
    """What is kept of the samples."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3


class ReliabilityPolicy(QoSPolicyEnum):
    """Whether samples are sent again."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3


class DurabilityPolicy(QoSPolicyEnum):
    """Whether late joiners get old samples."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3


class LivelinessPolicy(QoSPolicyEnum):
    """Who says that a publisher is alive."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4


QoSHistoryPolicy = HistoryPolicy
QoSReliabilityPolicy = ReliabilityPolicy
QoSDurabilityPolicy = DurabilityPolicy
QoSLivelinessPolicy = LivelinessPolicy

_DEFAULTS = {
    "depth": 10,
    "reliability": ReliabilityPolicy.RELIABLE,
    "durability": DurabilityPolicy.VOLATILE,
    "lifespan": Duration(),
    "deadline": Duration(),
    "liveliness": LivelinessPolicy.SYSTEM_DEFAULT,
    "liveliness_lease_duration": Duration(),
    "avoid_ros_namespace_conventions": False,
}
_ENUMS = {
    "history": HistoryPolicy,
    "reliability": ReliabilityPolicy,
    "durability": DurabilityPolicy,
    "liveliness": LivelinessPolicy,
}


class QoSProfile:
    """The policies of one endpoint; `history` and/or `depth` must be given."""

    __slots__ = [
        "_history",
        "_depth",
        "_reliability",
        "_durability",
        "_lifespan",
        "_deadline",
        "_liveliness",
        "_liveliness_lease_duration",
        "_avoid_ros_namespace_conventions",
    ]

    def __init__(self, **kwargs: Any) -> None:
        unknown = [key for key in kwargs if f"_{key}" not in self.__slots__]
        if unknown:
            raise AssertionError(f"Invalid arguments passed to constructor: {unknown!r}")
        if "history" not in kwargs:
            if "depth" not in kwargs:
                raise InvalidQoSProfileException("History and/or depth settings are required.")
            kwargs["history"] = HistoryPolicy.KEEP_LAST
        if HistoryPolicy(kwargs["history"]) == HistoryPolicy.KEEP_LAST and "depth" not in kwargs:
            raise InvalidQoSProfileException("History set to KEEP_LAST without a depth setting.")
        for slot in self.__slots__:
            name = slot[1:]
            setattr(self, name, kwargs[name] if name in kwargs else _DEFAULTS[name])

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, QoSProfile):
            return False
        return all(getattr(self, slot) == getattr(other, slot) for slot in self.__slots__)

    __hash__ = None

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{slot[1:]}={getattr(self, slot)}' for slot in self.__slots__)})"

    __repr__ = __str__


def _policy_property(name: str) -> property:
    slot = f"_{name}"
    enum = _ENUMS.get(name)
    kind = int if enum or name == "depth" else bool if name.startswith("avoid") else Duration

    def get(self: QoSProfile) -> Any:
        return getattr(self, slot)

    def put(self: QoSProfile, value: Any) -> None:
        if not isinstance(value, kind):
            raise AssertionError(f"QoS {name} must be of type {(enum or kind).__name__}, got {value!r}")
        setattr(self, slot, enum(value) if enum else value)

    return property(get, put, doc=f"The policy {name}.")


for _slot in QoSProfile.__slots__:
    setattr(QoSProfile, _slot[1:], _policy_property(_slot[1:]))

_BEST_EFFORT = {"reliability": ReliabilityPolicy.BEST_EFFORT}
qos_profile_unknown = QoSProfile(
    history=HistoryPolicy.UNKNOWN,
    depth=0,
    reliability=ReliabilityPolicy.UNKNOWN,
    durability=DurabilityPolicy.UNKNOWN,
    liveliness=LivelinessPolicy.UNKNOWN,
)
qos_profile_system_default = QoSProfile(
    history=HistoryPolicy.SYSTEM_DEFAULT,
    depth=0,
    reliability=ReliabilityPolicy.SYSTEM_DEFAULT,
    durability=DurabilityPolicy.SYSTEM_DEFAULT,
)
qos_profile_sensor_data = QoSProfile(depth=5, **_BEST_EFFORT)
qos_profile_services_default = QoSProfile(depth=10)
qos_profile_parameters = QoSProfile(depth=1000)
qos_profile_parameter_events = QoSProfile(depth=1000)
qos_profile_rosout_default = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)
qos_profile_action_status_default = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class QoSPresetProfiles(Enum):
    """The profiles that have a name."""

    UNKNOWN = qos_profile_unknown
    SYSTEM_DEFAULT = qos_profile_system_default
    SENSOR_DATA = qos_profile_sensor_data
    SERVICES_DEFAULT = qos_profile_services_default
    PARAMETERS = qos_profile_parameters
    PARAMETER_EVENTS = qos_profile_parameter_events
    ACTION_STATUS_DEFAULT = qos_profile_action_status_default

    @classmethod
    def short_keys(cls) -> list[str]:
        """Return the profiles' short names."""
        return [name.lower() for name in cls.__members__]

    @classmethod
    def get_from_short_key(cls, name: str) -> QoSProfile:
        """Return a profile by its short name, in upper or lower case."""
        return cls[name.upper()].value


class QoSCompatibility(IntEnum):
    """Whether a publisher and a subscription will match."""

    OK = 0
    WARNING = 1
    ERROR = 2


def _offers(offered: Duration, requested: Duration) -> bool:
    infinite = 2**63 - 1
    return (offered.nanoseconds or infinite) <= (requested.nanoseconds or infinite)


def qos_check_compatible(publisher_qos: QoSProfile, subscription_qos: QoSProfile) -> tuple[QoSCompatibility, str]:
    """Return whether two endpoints with these profiles match under DDS's rules, and the reasons if (perhaps) not."""
    errors, warnings = [], []
    for name, strong, weak in (
        ("reliability", ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT),
        ("durability", DurabilityPolicy.TRANSIENT_LOCAL, DurabilityPolicy.VOLATILE),
        ("liveliness", LivelinessPolicy.MANUAL_BY_TOPIC, LivelinessPolicy.AUTOMATIC),
    ):
        published, subscribed = getattr(publisher_qos, name), getattr(subscription_qos, name)
        if published == weak and subscribed == strong:
            errors.append(f"{weak.name} publisher and {strong.name} subscription ({name})")
        elif {published.name, subscribed.name} & {"SYSTEM_DEFAULT", "UNKNOWN"}:
            warnings.append(f"{published.name} publisher and {subscribed.name} subscription ({name})")
    if not _offers(publisher_qos.deadline, subscription_qos.deadline):
        errors.append("the publisher's deadline is longer than the subscription's")
    if not _offers(publisher_qos.liveliness_lease_duration, subscription_qos.liveliness_lease_duration):
        errors.append("the publisher's liveliness lease is longer than the subscription's")
    if errors:
        return QoSCompatibility.ERROR, "ERROR: " + ";ERROR: ".join(errors) + ";"
    if warnings:
        return QoSCompatibility.WARNING, "WARNING: " + ";WARNING: ".join(warnings) + ";"
    return QoSCompatibility.OK, ""
