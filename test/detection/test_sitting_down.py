"""Two neighbours are lost one after the other, the robot sits down and stands up; nothing healthy is declared."""

import mujoco  # noqa: F401 (the walk needs it)
from support.walks import WHOLE, walking


def test_nothing_healthy_is_declared_while_the_robot_sits_and_stands_up():
    """LF.tibia was declared limp, since contacts of a body on the ground are not those of the model."""
    blind = walking(seed=2, physics="mujoco", twist=(0.07, 0.0, -0.04), seconds=4.0)
    torn = WHOLE.without("RF")
    blind.damage(torn)
    assert blind.run(2.0, until=lambda blind: not blind.declared.is_intact)
    blind.run(4.6)
    blind.damage(torn.broken("RM.tibia", 0.05))
    assert blind.run(6.0, until=lambda blind: blind.gait.doing == "moving feet")
    blind.run(5.0)
    names = {name for decision in blind.decisions for name in decision.values}
    assert names == {"legs.RF", "remaining.RM.tibia"}
