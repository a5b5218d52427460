"""Untangles legs that lie across each other, by consecutive moves in which no link touches another.

Links are the capsules of robot/mjcf.py, the body is its box. A path is clear if no two legs, and no tibia and the
body, come too near, or nearer than at the start. First all legs together are tried, then those legs that can
move; a leg that cannot move directly moves by way of one of several poses. The ground is ignored: a leg that
touches it lifts the body.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from hexapod_dynamics.core._core import least_distance
from hexapod_dynamics.gait.legs import leg_table, link_lines
from hexapod_dynamics.robot import Morphology, Robot

RADIUS = 0.010  # [m] of a link
BODY = -1  # in place of a leg's index
# Intermediate poses of a leg: its coxa stays or turns, then femur and tibia [rad].
VIAS = list(itertools.product((None, 0.0, 0.7, -0.7, 1.3, -1.3), (1.7, 0.8, 0.0, -0.9, -1.6), (1.1, 0.0, -1.2, -2.0)))


class LegSpace:
    """Computes where a robot's legs are, and whether they can move without touching; angles (n,) [rad]."""

    def __init__(self, robot: Robot, morphology: Morphology | None = None) -> None:
        self._table = leg_table(robot, morphology)
        self._half = 0.5 * np.asarray(robot.body.box, float)
        self.legs: list[int] = np.flatnonzero(self._table["mass"][:, 0] > 0.0).tolist()
        self.low, self.high = self._table["lower"], self._table["upper"]
        self._long = (self._table["mass"] > 0.0) & (self._table["lengths"] > 4.0 * RADIUS)  # links (legs, 3)

    def compute_capsules(self, leg: int, angles: np.ndarray) -> np.ndarray:
        """Return the centre lines (links, 6) [m] of a leg's links at (3,) [rad], in base_link."""
        row, long = self._table[leg], self._long[leg]
        lines = link_lines(row, angles)[long[row["mass"] > 0.0]]
        way = RADIUS * (lines[:, 3:] - lines[:, :3]) / row["lengths"][long, None]
        return lines + np.hstack([way, -1.5 * way])

    def compute_distances(self, angles: np.ndarray, moving: Sequence[int]) -> dict[tuple[int, int], float]:
        """Return the least distance [m] of each pair of legs of which one is `moving`, and, as (leg, BODY), that
        of each moving leg's tibia from the body.
        """
        lines = {i: self.compute_capsules(i, angles[3 * i : 3 * i + 3]) for i in self.legs}
        pairs = [pair for pair in itertools.combinations(self.legs, 2) if set(pair) & set(moving)]
        out = {(i, j): least_distance(lines[i], lines[j]) for i, j in pairs}
        return out | {(i, BODY): self._from_body(lines[i][-1]) for i in moving if self._long[i, 2]}

    def _from_body(self, line: np.ndarray) -> float:
        """Return the least distance [m] of a line (6,) from the body's box."""
        share = np.linspace(0.0, 1.0, 7)[:, None]
        points = line[:3] + share * (line[3:] - line[:3])
        outside = np.maximum(np.abs(points) - self._half, 0.0)
        return float(np.linalg.norm(outside, axis=1).min())

    def is_clear(self, start: np.ndarray, end: np.ndarray) -> bool:
        """Return whether all joints can move uniformly from start to end (n,) [rad]."""
        ways = _ways(start, end)
        moving = [i for i in self.legs if ways[i] > 1e-6]
        first = self.compute_distances(start, moving)
        # Centre lines [m]: of two links, and of a link and the body; links that touch at the start may go on doing so.
        least = {pair: min(0.013 if pair[1] == BODY else 0.024, d - 0.002) for pair, d in first.items()}
        count = max(2, int(np.ceil(ways.max() / 0.12)))  # [rad] between two samples
        for k in range(count, 0, -1):
            now = self.compute_distances(start + (k / count) * (end - start), moving)
            if any(now[pair] < bound for pair, bound in least.items()):
                return False
        return True


def plan_moves(space: LegSpace, start: np.ndarray, goal: np.ndarray) -> Iterator[np.ndarray | None]:
    """Yield the set-points (n,) [rad] of each move from start to goal (n,), and None after each try that yields none.

    Joints whose goal is NaN keep their start. The last move leads to the goal in any case, even if no clear path
    was found.
    """
    goal, here, tries = np.where(np.isfinite(goal), goal, start), start.copy(), iter(range(200))
    left = set(np.flatnonzero(_ways(start, goal) > 1e-6).tolist())
    for _ in range(14):
        if not left:
            return
        target = _replace_legs(here, goal, left)
        if space.is_clear(here, target):
            yield target
            return
        yield None
        group: set[int] = set()
        for i in sorted(left, key=_ways(here, goal).__getitem__):
            if space.is_clear(here, _replace_legs(here, goal, group | {i})):
                group.add(i)
            yield None
        if group:
            here = _replace_legs(here, goal, group)
            left -= group
            yield here
            continue
        step: tuple[int, np.ndarray, np.ndarray | None] | None = None
        for (i, via), _ in zip(_vias(space, here, goal, left), tries, strict=False):
            if space.is_clear(here, via):
                end = _replace_legs(via, goal, {i})
                if space.is_clear(via, end):
                    step = i, via, end
                    break
                step = step or (i, via, None)
            yield None
        if step is None:
            break
        i, via, last = step
        yield via
        here = via
        if last is not None:
            yield last
            here = last
            left -= {i}
    yield _replace_legs(here, goal, left)


def _ways(here: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the longest way (legs,) [rad] of a joint of each leg."""
    return np.abs(goal - here).reshape(-1, 3).max(axis=1)


def _replace_legs(here: np.ndarray, goal: np.ndarray, legs: set[int]) -> np.ndarray:
    """Return the joints `here`, but with these legs at the goal."""
    rows, out = list(legs), here.copy()
    out.reshape(-1, 3)[rows] = goal.reshape(-1, 3)[rows]
    return out


def _vias(space: LegSpace, here: np.ndarray, goal: np.ndarray, left: set[int]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield poses in which one leg has moved, nearest poses first."""
    found = []
    for i, (coxa, femur, tibia) in itertools.product(left, VIAS):
        out, leg = here.copy(), slice(3 * i, 3 * i + 3)
        out[leg] = np.clip([here[3 * i] if coxa is None else coxa, femur, tibia], space.low[i], space.high[i])
        found.append((i, out))
    yield from sorted(found, key=lambda each: (np.abs(each[1] - here).max(), each[0]))
