"""Moves and reads the bus servos: joint_commands in, measured joint_states out; holds the pose when commands stop.

`emergency_stop` freezes the pose; torque off, sitting down and the emergency stop last until a person ends them,
even if this node crashes and is respawned (docs/safety.md). A command is refused as a whole if it is far beyond
the limits, old, or from a second source.

`joint_states` has all joints that answer, stamped with the newest measurement; because the bus reads them one after
another, `~/measurements` has a message for each reading of a joint, stamped with the time of the reading; filters
should use this topic. The age of the oldest one is in /diagnostics.

`~/following` (latched) tells whether joint_commands are executed: they are not while the pose is frozen, the robot
sits down or torque is off, while two sources cannot be distinguished, or before all joints have been measured again.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, cast

import numpy as np

from hexapod_dynamics.control.pose_guard import GuardSettings, PoseGuard
from hexapod_dynamics.control.posture import SupplyLimits, seated_pose
from hexapod_dynamics.drivers.servos.chain import ServoChain
from hexapod_dynamics.drivers.servos.chain_state import ChainSettings, ChainState
from hexapod_dynamics.drivers.servos.health import SEVERITY, ServoHealth, ServoHeat, figures
from hexapod_dynamics.drivers.servos.interface import BusError, PortSettings, make_servos
from hexapod_dynamics.drivers.servos.supervisor import ServoSupervisor, SupervisorSettings
from hexapod_dynamics.drivers.simulated_port import find_proved_device
from hexapod_dynamics.drivers.thread_priority import raise_process_priority
from hexapod_dynamics.errors import DeviceError
from hexapod_dynamics.nodes.command_watch import CommandWatch
from hexapod_dynamics.nodes.robot_node import RobotNode, compute_age
from hexapod_dynamics.nodes.servo_messages import ServoMessages
from hexapod_dynamics.nodes.stops import Stops, restore_stop
from hexapod_dynamics.onboard.inputs import SourceLock, find_stamp_refusal
from hexapod_dynamics.parameters.servos import PARAMETERS
from hexapod_dynamics.parameters.spec import make_settings
from hexapod_dynamics.robot import Morphology
from hexapod_dynamics.robot.servo_map import ServoMap
from hexapod_dynamics.ros import start
from hexapod_dynamics.ros.crash_recovery import SessionState
from hexapod_dynamics.ros.node_functions import COMMANDS, Diagnostics
from hexapod_dynamics.ros.tick_loop import TickLoop
from hexapod_dynamics.runtime_directory import SERVO_BUS, device_directory
from sensor_msgs.msg import JointState

if TYPE_CHECKING:
    from hexapod_dynamics.drivers.servos.board.servos import BoardServos
    from hexapod_dynamics.drivers.servos.topics import TopicServos
    from hexapod_dynamics.nodes.board_outputs import BoardOutputs
    from hexapod_dynamics.nodes.foreign_joints import ForeignJoints

ALIGNED = 0.002  # [s] for which a command waits for the next tick while commands are punctual (`_set_pace`)
# Time [s] after which a port that is not open is reported in the log, once; a launched simulator needs that long, while
# an adapter is plugged in or not.
PORT_PATIENCE = {"device": 1.0, "alone": 2.0, "launched": 60.0}


class ServosNode(RobotNode):
    """Owns the servo bus; see the module."""

    def __init__(self) -> None:
        super().__init__("servos", PARAMETERS)
        sys.setswitchinterval(0.001)  # [s] after which a tick lets another thread run, as that of a stop
        self.session_state: SessionState = SessionState(self, keeps=True)
        values = self.values
        self._names = list(self.robot.joint_names)
        self._missing = np.zeros(len(self._names), bool)  # declared missing
        self._period, self._timeout = (values.read(name, float) for name in ("command_period", "command_timeout"))
        self.guard = PoseGuard.from_robot(self.robot, make_settings(GuardSettings, values))
        supply = SupplyLimits(**{what: values.read(f"{what}_voltage", float) for what in ("warn", "sit", "release")})
        seated = seated_pose(self.robot, values.read("sit_pose", list))
        # The chain is last: no hardware is accessed before every parameter has been accepted.
        given = {"seated": seated, "period": self._period, "supply": supply, "namespace": self.get_namespace()}
        settings = make_settings(SupervisorSettings, values, **given)
        self.chain = self._make_chain()
        self.ending.callback(self.chain.stop)  # whatever calls it is made later, and ends before
        self.control = ServoSupervisor(
            self.chain,
            self.guard,
            settings,
            self.get_logger().warning,
            restore_stop(self.session_state, self.get_logger()),
            lambda stop: self.session_state.post(stop.to_values()),
        )
        self.watch = CommandWatch(self, "joint_commands", SourceLock(self._timeout))
        self._begun, self._port_reported = time.monotonic(), False
        foreign = values["protocol"] == "topics"  # another driver publishes joint_states
        self._health = ServoHealth(self._names, "topics" if foreign else "bus" if values["port"] else "simulator")
        self._heat = ServoHeat(self._names)
        self._level, self._next_report = ("ok", ""), 0.0
        self._messages = ServoMessages(self, self._names, values.read("stale_age", float), joint_states=not foreign)
        # A whole number of ticks in a command period, so that each command meets one.
        self._rate = values.read("rate", float)  # joint_states a second
        longest = self._period / math.ceil(self._period * self._rate - 1e-9)
        self._ticks = min(0.01, longest), longest  # [s]: a command waits for the next one; while commands are punctual
        self._punctual, self._commanded = 0, -np.inf  # commands in a row, monotonic time of the last one
        self.loop = TickLoop(self, self._ticks[False], self._tick)
        # A command is executed with the torques that were received before it: more often they are not read. Commands of
        # two sources are distinguished, and the only one of a script is not lost. The other driver's topic is
        # joint_commands.
        self._torques = self.loop.subscribe(JointState, "feedforward_torques", self._on_torques, 1, in_ticks=False)
        commands = "gait/joint_commands" if foreign else "joint_commands"
        self.loop.subscribe(JointState, commands, self._on_command, COMMANDS)
        self.foreign: ForeignJoints | None = None
        if foreign:
            from hexapod_dynamics.nodes.foreign_joints import ForeignJoints

            servos = cast("TopicServos", self.chain.servos)
            self.foreign = ForeignJoints(self, servos, values.read("command_interface", str))
        self._next_state = self._next_step = 0.0  # monotonic [s]
        self._ticked, self._deaf_until = time.monotonic(), 0.0
        self.subscribe_morphology(self._on_morphology)
        self.diagnostics = Diagnostics(self, f"{self.robot.name} servo bus {self.chain.servos.port}", self._diagnose)
        self.loop.call_every(1.0, lambda: self._messages.publish_battery(self.control.state.supply))
        self.loop.call_every(0.2, self._watch_sources)
        self.stops = Stops(self, self._report_soon)
        self.board: BoardOutputs | None = None
        if values["protocol"] == "board":
            from hexapod_dynamics.nodes.board_outputs import BoardOutputs

            self.board = BoardOutputs(self, cast("BoardServos", self.chain.servos))
        self.priority = raise_process_priority(10)  # that of the threads which stop the robot is higher
        self.chain.start()  # the hardware is started last, after all checks
        if values["on_shutdown"] == "release":
            self.ending.callback(self._release)

    def _make_chain(self) -> ServoChain:
        """Make the bus thread as the parameters say; `session` has been declared (crash_recovery.SessionState)."""
        values, given, protocol = self.values, self.values.read("port", str), self.values.read("protocol", str)
        topics, session = protocol == "topics", self.get_parameter("session").value
        port = "joint_states" if topics else given or str(device_directory(self.get_namespace()) / SERVO_BUS)

        def prove() -> str:
            """Return the device of the simulated port, if that is the one of this launch's own simulator."""
            try:
                return find_proved_device(port, session)
            except DeviceError as error:
                raise BusError(str(error)) from error

        proof = None if given or topics else prove
        settings = make_settings(PortSettings, values, port=port, prove=proof, model=values["servo_model"])
        servo_map = ServoMap.from_joint_names(self._names) if topics else ServoMap.from_robot(self.robot)
        servos = make_servos(settings, servo_map.ids, protocol)
        return ServoChain(servos, servo_map, make_settings(ChainSettings, values))

    # In --------------------------------------------------------------------------------------------------------------

    def _on_command(self, message: JointState) -> None:
        now = time.monotonic()
        positions, joints = message.position.tolist(), self.joints.match_names(message.name)
        refusal = self.joints.command_refusal(message.name, positions, message.velocity.tolist())
        if refusal:
            named = joints.unknown or joints.repeated
            self.watch.refuse("unknown joints" if named else "beyond what joints can do", refusal)
            return
        age = compute_age(message.header.stamp)
        if age:  # zero means no stamp: the command is as old as now
            refusal = find_stamp_refusal(age, self._timeout)
            if refusal:
                self.watch.refuse("old", refusal)
                return
            self.loop.align(age, ALIGNED)
            self._set_pace(age, now)
        if not self.watch.accept(message.header.frame_id, now) or self._is_backlog(now):
            self.control.hold_when_commands_stop(now)
            return
        if math.isnan(sum(positions)):
            bad = next(k for k, position in enumerate(positions) if not math.isfinite(position))
            asked = f"joint_commands asks {positions[bad]} of {message.name[bad]}"
            self.get_logger().warning(
                f"{asked}: the joint holds; leave it out of the message instead", throttle_duration_sec=5.0
            )
        self._torques.read()
        self.control.follow(np.array(joints.joints, np.intp), message.position, now)

    def _set_pace(self, age: float, now: float) -> None:
        """Tick once a command while the last 25 were punctual, else twice as often, so that none waits long.

        age [s]: of a command with a stamp that is taken at the monotonic time `now` [s].
        """
        self._punctual = self._punctual + 1 if age < 2.0 * ALIGNED else 0
        self._commanded = now
        self.loop.set_period(self._ticks[self._punctual > 25])

    def _is_backlog(self, now: float) -> bool:
        """Whether commands that arrive now may have been queued while this process was stopped.

        Without a stamp they look new. The first ones command the pose from before the stall, which the joints still
        have: the guard would find that they follow, and the next commands would move them at full speed.
        """
        if now - self._ticked > self._timeout:
            self._deaf_until = now + 0.2  # within which all that was queued has arrived
        return now < self._deaf_until

    def _on_torques(self, message: JointState) -> None:
        if not self.values["use_feedforward"]:
            return
        if compute_age(message.header.stamp) > self._timeout:
            return  # this command has been queued since the last one
        torques = self.joints.arrange_message("feedforward_torques", message.name, message.effort.tolist())
        if torques is not None:
            self.control.feed_forward(slice(None), np.nan_to_num(torques), time.monotonic())

    def _on_morphology(self, morphology: Morphology) -> None:
        gone = ~morphology.existing_mask
        back = [name for name, was, is_ in zip(self._names, self._missing, gone, strict=True) if was and not is_]
        if back and not self.control.state.torque:
            self.get_logger().warning(
                f"joints declared present again: {', '.join(back)}; the torque of all servos is off, also of these: "
                "~/torque with true switches it on"
            )
        self._missing = gone
        self.chain.set_missing(gone)
        if self.foreign is not None:
            self.foreign.set_missing(gone)

    def _report_soon(self) -> None:
        """Let the next tick look for a change of the diagnostics."""
        self._next_report = 0.0

    def _watch_sources(self) -> None:
        if self.watch.update():
            self.control.hold(self.watch.conflict)

    def _tick(self) -> None:
        now = time.monotonic()
        if now - self._commanded > 2.5 * self._period:
            self._punctual = 0
            self.loop.set_period(self._ticks[False])
        self._is_backlog(now)
        self._ticked = now
        # Half a tick early is in time, so that a period that is a multiple of the tick is kept.
        soon, state = now + 0.5 * self.loop.period, None
        if soon >= self._next_step:
            self._next_step = max(self._next_step + self._period, now)
            if self.control.pending:
                self._torques.read()
            self.control.step(now)
            state = self.control.state
        if soon >= self._next_state:
            self._next_state = max(self._next_state + 1.0 / self._rate, now)
            self._publish(now, state or self.chain.snapshot(self.control.state))

    # Out -------------------------------------------------------------------------------------------------------------

    def _publish(self, now: float, state: ChainState) -> None:
        self.control.hold_when_commands_stop(now)
        self._messages.publish_following(self.control.is_executing and not self.watch.conflict)
        self._messages.publish_readings(now, state)
        if now > self._next_report:  # a change is reported soon
            self._next_report = now + 0.1
            if self._assess(now) != self._level:
                self.diagnostics.publish()
        self._report_closed_port(now, state)

    def _report_closed_port(self, now: float, state: ChainState) -> None:
        """Log once that the port does not open: without a launch, /diagnostics is often not displayed."""
        if state.connected:
            self._port_reported = True
            return
        kind = "device" if self.values["port"] else "launched" if start.launch_process() else "alone"
        if not self._port_reported and now - self._begun > PORT_PATIENCE[kind]:
            self._port_reported = True
            self.get_logger().error(f"{state.last_port_error or 'the servo port is not open'}; it is tried again")

    def _assess(self, now: float) -> tuple[str, str]:
        """Return level and message: bus, commands, supply, present action, in this order."""
        self.control.not_kept = self.session_state.failure
        parts = [
            self._health.assess(self.control.state, now),
            self._heat.assess(),
            self.watch.assess(self.guard.clamped, now),
            self.control.doing(),
            self.session_state.assess(now),
            self.stops.assess(now),
            self.foreign.assess() if self.foreign is not None else ("ok", []),
        ]
        # Where another driver measures the joints, what its messages lack is the cause of what health finds.
        faults = self.faults.list_recent(now)
        parts.insert(len(parts) if self.foreign is None else 0, ("warn" if faults else "ok", faults))
        said = dict.fromkeys(word for _, words in parts for word in words)  # one reason may be known in two places
        return max((level for level, _ in parts), key=SEVERITY.index), "; ".join(said)

    def _diagnose(self) -> tuple[str, str, dict[str, object]]:
        now, state = time.monotonic(), self.chain.snapshot(self.control.state)
        self._heat.update(now, state.temperature)
        self._level = self._assess(now)
        values = figures(state, self._names, now)
        values["priority of the bus thread"] = self.chain.priority
        values["priority of the other threads"] = self.priority
        values |= {f"clamped {kind}": count for kind, count in self.guard.clamped.items()}
        values |= self.watch.refusals.counts("commands refused, ")
        values |= self.faults.counts()
        values["losses of the stored state"] = self.session_state.losses
        values |= self.chain.servos.figures()
        return *self._level, values | {"stop": self.control.stop.mode, "emergency stop": self.control.stop.frozen}

    def _release(self) -> None:
        """Switch torque off at the end, instead of holding the pose; a stop is still accepted meanwhile."""
        self.chain.set_torque(False)
        self.chain.wait_confirmed(1.0)
