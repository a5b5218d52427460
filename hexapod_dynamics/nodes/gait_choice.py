"""Changes between the gaits of the node `gait`."""

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.gait.adaptive_settings import LIVE
from hexapod_dynamics.gait_kinds import ADAPTIVE, make

__all__ = ["change", "make"]


def change(gait, kind, new_kind, values, new_values):
    """Return the gait to continue with: the same gait with new settings, or another one that starts from the
    present joints.

    Raises HexapodError if settings are impossible or cannot change while the robot walks; then nothing has
    changed.
    """
    if kind in ADAPTIVE and new_kind in ADAPTIVE:
        fixed = [name for name in values if name not in LIVE and values[name] != new_values[name]]
        if fixed:
            raise HexapodError(f"{fixed[0]}: set at start; while gait is {kind} you can set {', '.join(LIVE)}")
        changed = {name: new_values[name] for name in LIVE if values[name] != new_values[name]}
        if changed:
            gait.adjust(**changed)
        if kind != new_kind:
            gait.set_pattern(new_kind)
        return gait
    if gait.walking:
        raise HexapodError("the gait walks: send cmd_vel zero and wait until it stands, then change it")
    other = make(new_kind, new_values).bind(gait.robot, gait.morphology)
    other.reset(joints=gait.position)
    gait.close()
    return other
