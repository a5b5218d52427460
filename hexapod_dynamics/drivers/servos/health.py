"""Turns the state of the bus thread into a level and messages that name the joint and the likely cause.

Predicts which servo will get too hot, from the temperatures that it reports seldom and in whole degrees.

A servo under a steady load warms up towards a final temperature E: T(t) = E - A exp(-t / tau). From three means,
each over SPAN, the ratio r of the last rise to the previous one yields E (Prony's method), E = T3 + (T3 - T2) r /
(1 - r), and tau = -SPAN / ln r. No motor constants are needed; a change of the load appears in the next means.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hexapod_dynamics.drivers.servos.chain_state import ChainState
from hexapod_dynamics.drivers.servos.interface import FAULTS

SEVERITY = ("ok", "warn", "error")
RECONNECTED = 2  # consecutive answers of a servo that is known to be off the robot
_FEW = 3  # errors, over two slots of time, up to which errors are not reported

_DEAD = "no servo answers, none is moved: is the supply on, is another program on the bus, is `direction` right?"
_SILENT = "does not answer and is not moved: broken off, unplugged or without power; mend it, or declare it missing"
# What is said if no joint is measured, what one does that is not, and why answers are lost: where a bus is real or
# simulated, and where another driver publishes joint_states.
SOURCES = {
    "bus": (_DEAD, _SILENT, "cable, ground or bus drive"),
    "simulator": (_DEAD, _SILENT, "this computer is too busy, or the simulator has faults"),
    "topics": (
        "no joint is measured: joint_states come more than 0.5 s apart",
        "is not measured and not moved: joint_states has no position of it, or always the same one while it is to move",
        "messages of joint_states are late, or their stamps repeat or go back",
    ),
}


class _Slot(NamedTuple):
    """Counts so far at the beginning of a slot of 0.4 s: errors (n, kinds), answers, late wakes, late answers."""

    time: float
    errors: np.ndarray
    reads: int = 0
    late_wakes: int = 0
    late_answers: int = 0


class ServoHealth:
    """Assesses the ChainStates of joints `names`."""

    def __init__(self, names: Sequence[str], source: str = "bus") -> None:
        """source: of the measurements, one of SOURCES."""
        self._dead, self._silence, self._cause = SOURCES[source]
        self._names = list(names)
        none = _Slot(-np.inf, np.zeros((len(self._names), len(FAULTS)), np.int64))
        self._slots = deque([none], maxlen=3)
        self._noise = ""

    def assess(self, state: ChainState, t: float) -> tuple[str, list[str]]:
        """Return ('ok', 'warn' or 'error', list of faults) at monotonic time t [s]."""
        if not state.connected:
            return ("error", [state.last_port_error]) if state.last_port_error else ("warn", ["opening the port"])
        if t - state.last_received > 0.5 and state.unanswered >= 6 and not state.missing.all():
            return "error", [self._dead]
        off = not state.torque
        reporting = np.array([bool(words) for words in state.reports] or np.zeros(len(self._names)), bool)
        limp = state.limp
        unconfirmed = state.unconfirmed_there & off
        table = {
            "still has torque although torque is off: the command is repeated": unconfirmed & (state.torque_on == 1.0),
            "has not confirmed that its torque is off": unconfirmed & (state.torque_on != 1.0),
            "still moves although the pose is frozen": state.moving & state.known & state.frozen,
            self._silence: state.silent & ~(state.unconfirmed & off),
            "has no torque: the joint was declared missing when it was switched on; servos/torque true switches it on "
            "where it stands": state.known & (state.torque_on == 0.0) & state.torque & state.torque_left_off,
            "has no torque although it was switched on: the command is repeated": state.known
            & state.unconfirmed
            & state.torque
            & (state.torque_on == 0.0)
            & (t - state.torque_time > 1.0),
            # What a servo reports is the cause.
            "has switched its torque off: too hot, or the supply is outside the servo's limits": limp & ~reporting,
            "does not reach its target: blocked or overloaded": state.known
            & state.lagging
            & (state.torque_on != 0.0)
            & state.torque,
        }
        named = {words: ", ".join(itertools.compress(self._names, mask)) for words, mask in table.items()}
        wrong = [f"{names} {words}" for words, names in named.items() if names]
        for name, words, missing, off_itself in zip(self._names, state.reports, state.missing, limp, strict=False):
            if words and not missing:
                wrong.append(f"{name} has switched its torque off: it {words}" if off_itself else f"{name} {words}")
        noise = self._line(state, t)
        switching = off and t - state.torque_time < 1.0 and not (state.silent | state.moving).any()
        level = "ok" if not wrong and not noise else "error" if wrong and not switching else "warn"
        return level, [*wrong, noise] if noise else wrong

    def _line(self, state: ChainState, t: float) -> str:
        """Fault of the line, from the errors since the slot before the last one began; empty if they are few."""
        if t - self._slots[-1].time > 0.4:
            self._slots.append(_Slot(t, state.errors.copy(), state.reads, state.late_wakes, state.late_answers))
            self._noise = self._describe(state, self._slots[0], t)
        return self._noise

    def _describe(self, state: ChainState, before: _Slot, t: float) -> str:
        errors, reads = state.errors - before.errors, state.reads - before.reads
        late = state.late_wakes - before.late_wakes
        corrupted, few = errors[:, 1:], max(_FEW, 0.02 * reads)
        if corrupted.sum() >= few:
            by_joint, by_kind = corrupted.sum(axis=1), corrupted.sum(axis=0)
            worst = int(np.argmax(by_joint))
            kinds = ", ".join(f"{count} {kind}" for kind, count in zip(FAULTS[1:], by_kind, strict=True) if count)
            if by_joint[worst] > 0.8 * by_joint.sum():
                return f"{self._names[worst]} answers badly ({kinds}): its cable, or two servos with one id"
            return f"noisy line ({kinds}, {reads} good answers): {self._cause}"
        lost = int(errors[~state.silent, 0].sum())  # missing answers of silent servos are reported by joint
        if lost > few:
            losses = f"{lost} answers lost or late beside {reads} good ones"
            return f"{_busy(late)}, {losses}" if late >= 0.3 * lost else f"{losses}: {self._cause}"
        # A busy machine delays only single answers.
        late_answers = state.late_answers - before.late_answers
        if late_answers > max(_FEW, 0.2 * reads):
            return f"slow line ({late_answers} of {reads} answers late): latency timer of the USB adapter?"
        oldest = t - np.min(state.stamp, initial=t, where=state.known)
        if late > _FEW and oldest > 0.35:
            return f"{_busy(late)}, the oldest measurement is of {oldest:.2f} s ago"
        return ""


def _busy(late: int) -> str:
    return f"this machine is too slow or too busy: the bus thread woke late {late} times"


def figures(state: ChainState, names: Sequence[str], t: float) -> dict[str, object]:
    """Diagnostic values of a ChainState of joints `names` at monotonic time t [s], by name with unit."""
    known = state.known

    def named(mask: np.ndarray) -> str:
        return " ".join(itertools.compress(names, mask))

    values: dict[str, object] = {
        "oldest measurement [s]": float(np.max(t - state.stamp[known])) if known.any() else float("nan"),
        "supply [V]": float(state.supply),
        "bus load": state.bus_load,
        "poses sent": state.writes,
        "answers": state.reads,
        "late answers": state.late_answers,
        "late wakes of the bus thread": state.late_wakes,
        "port errors": state.port_errors,
        "last port error": state.last_port_error,
        "port opened": state.opened,
        "torque not confirmed": named(state.unconfirmed_there),
        "silent": named(state.silent),
        "back": named(state.back >= RECONNECTED),
        "torque off": named(state.limp),
    }
    values |= {f"errors {kind}": int(count) for kind, count in zip(FAULTS, state.errors.sum(axis=0), strict=True)}
    for i, name in enumerate(names):
        values[f"{name} voltage [V]"] = float(state.voltage[i])
        values[f"{name} temperature [deg C]"] = float(state.temperature[i])
        values[f"{name} errors"] = int(state.errors[i].sum())
    return values


HOT = 60.0  # [deg C] too hot
HEAT_WINDOW = 60.0  # [s] of a mean: counts of a degree average out
LEAST_RISE = 0.5  # [deg C] in SPAN: a smaller rise is quantisation noise


class ServoHeat:
    """Watches the temperatures of joints `names`; times are monotonic seconds."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        n = len(self._names)
        self._sums, self._counts, self._begin = np.zeros(n), np.zeros(n), math.nan
        self._means = np.full((3, n), np.nan)  # the oldest first
        self._now = np.full(n, np.nan)

    def update(self, t: float, temperatures: npt.ArrayLike) -> None:
        """Take temperatures (n,) [deg C], NaN: not known; after a pause in the calls the means start anew."""
        now = np.asarray(temperatures, float)
        if math.isnan(self._begin) or t - self._begin > 2.0 * HEAT_WINDOW:
            self._means[:] = np.nan
            self._restart(t)
        elif t - self._begin >= HEAT_WINDOW:
            mean = np.divide(self._sums, self._counts, out=np.full(len(now), np.nan), where=self._counts > 0)
            self._means[:-1] = self._means[1:]
            self._means[-1] = mean
            self._restart(t)
        known = np.isfinite(now)
        self._sums[known] += now[known]
        self._counts += known
        self._now[:] = now

    def _restart(self, t: float) -> None:
        self._sums[:] = self._counts[:] = 0.0
        self._begin = t

    def time_to_hot(self, joint: int) -> float:
        """Return the time [s] after which a joint is HOT under its present load; infinite if it will never be."""
        first, before, last = self._means[:, joint].tolist()
        if self._now[joint] >= HOT:
            return 0.0
        rise = last - before
        if not math.isfinite(rise + first) or rise < LEAST_RISE or last < 45.0:  # the first rises predict little
            return math.inf
        missing = HOT - last
        ratio = rise / (before - first) if before - first > LEAST_RISE else 1.0
        if ratio >= 0.97:  # the warming is as good as linear
            return max(missing / rise * HEAT_WINDOW - 0.5 * HEAT_WINDOW, 0.0)
        left = rise * ratio / (1.0 - ratio)  # [deg C] by which it will warm up from the last mean
        if left <= missing:
            return math.inf
        return max(-HEAT_WINDOW / math.log(ratio) * math.log(left / (left - missing)) - 0.5 * HEAT_WINDOW, 0.0)

    def assess(self) -> tuple[str, list[str]]:
        """Return ('ok' or 'warn', what is wrong)."""
        wrong = []
        for joint, name in enumerate(self._names):
            time = self.time_to_hot(joint)
            if time == 0.0:
                wrong.append(f"{name} has {self._now[joint]:.0f} deg C: let it rest")
            elif time < 600.0:
                wrong.append(
                    f"{name} has {self._now[joint]:.0f} deg C and reaches {HOT:.0f} in {max(time / 60.0, 1.0):.0f} min "
                    "if it goes on like this: walk slower, or let it rest"
                )
        return ("warn" if wrong else "ok"), wrong
