"""QoS profiles as DDS policies and back, with the values rmw_cyclonedds puts on every endpoint."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

from . import dds
from .dds import Policy, Qos

_MAX_DEPTH = 2**31 - 1


def _history(profile: QoSProfile) -> object:
    if profile.history == HistoryPolicy.KEEP_ALL:
        return Policy.History.KeepAll
    return Policy.History.KeepLast(min(profile.depth, _MAX_DEPTH) or 1)


def _nanoseconds(duration: Duration) -> int | None:
    """Return None where the profile leaves the policy to DDS (zero or infinite)."""
    return duration.nanoseconds if 0 < duration.nanoseconds < dds.INFINITE else None


def endpoint_qos(profile: QoSProfile, *, writer: bool, user_data: bytes = b"", ignore_local: bool = False) -> Qos:
    """Return the QoS of a DataWriter or DataReader for a profile."""
    for name in ("history", "reliability", "durability", "liveliness"):
        if getattr(profile, name).name == "UNKNOWN":
            raise ValueError(f"the QoS policy {name} is UNKNOWN; an endpoint needs one of the others: {profile}")
    history = _history(profile)
    transient = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    best_effort = profile.reliability == ReliabilityPolicy.BEST_EFFORT
    lease = _nanoseconds(profile.liveliness_lease_duration) or dds.INFINITE
    manual = profile.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC
    policies = [
        history,
        Policy.Reliability.BestEffort if best_effort else Policy.Reliability.Reliable(max_blocking_time=dds.INFINITE),
        Policy.Durability.TransientLocal if transient else Policy.Durability.Volatile,
        (Policy.Liveliness.ManualByTopic if manual else Policy.Liveliness.Automatic)(lease_duration=lease),
    ]
    deadline = _nanoseconds(profile.deadline)
    if deadline:
        policies.append(Policy.Deadline(deadline))
    lifespan = _nanoseconds(profile.lifespan)
    if lifespan and writer:
        policies.append(Policy.Lifespan(lifespan))
    if writer:
        policies.append(Policy.WriterDataLifecycle(autodispose=False))
        if transient:
            policies.append(Policy.DurabilityService(0, history, -1, -1, -1))
    if user_data:
        policies.append(Policy.Userdata(user_data))
    if ignore_local:
        policies.append(Policy.IgnoreLocal.Participant)
    return Qos(*policies)


def _duration(policy: object, attribute: str) -> Duration:
    value = getattr(policy, attribute, None)
    return Duration(nanoseconds=dds.INFINITE if value is None else value)


def profile_of(qos: Qos) -> QoSProfile:
    """Return the profile of a discovered endpoint; history UNKNOWN and depth 0 if the vendor of the endpoint does not
    send them.
    """
    by_scope = {policy.__scope__: policy for policy in qos.policies}
    reliability, durability = by_scope.get("Reliability"), by_scope.get("Durability")
    liveliness, history = by_scope.get("Liveliness"), by_scope.get("History")
    keep_last = isinstance(history, Policy.History.KeepLast)
    return QoSProfile(
        history=(
            HistoryPolicy.UNKNOWN
            if history is None
            else HistoryPolicy.KEEP_LAST
            if keep_last
            else HistoryPolicy.KEEP_ALL
        ),
        depth=history.depth if keep_last else 0,
        reliability=(
            ReliabilityPolicy.RELIABLE
            if isinstance(reliability, Policy.Reliability.Reliable)
            else ReliabilityPolicy.BEST_EFFORT
        ),
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL
            if durability == Policy.Durability.TransientLocal
            else DurabilityPolicy.VOLATILE
        ),
        lifespan=_duration(by_scope.get("Lifespan"), "lifespan"),
        deadline=_duration(by_scope.get("Deadline"), "deadline"),
        liveliness=(
            LivelinessPolicy.MANUAL_BY_TOPIC
            if isinstance(liveliness, Policy.Liveliness.ManualByTopic)
            else LivelinessPolicy.AUTOMATIC
        ),
        liveliness_lease_duration=_duration(liveliness, "lease_duration"),
    )
