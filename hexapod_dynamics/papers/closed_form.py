"""The whole-body model as in the paper, term by term: a readable reference for the fast implementation.

Farghdani & Chhabra 2025, equations (5)-(51), for any number of legs, joints a leg and revolute, prismatic and helical
joints. Equation numbers stand beside the lines; if a formula is missing in the published text, `lam` and the
blocks follow the description in words. Everything is in the body frame; twists are linear first. The code is not
optimised for speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hexapod_dynamics.robot import Leg, Morphology
from hexapod_dynamics.se3 import Ad, ad, exp, inverse, pose, skew, spatial_inertia


@dataclass(frozen=True)
class LegConstants:
    """Constants of a leg: existence numbers, screws and poses at zero in the body frame, link inertias."""

    lam: float  # lam_i, (27)-(30)
    lam_links: np.ndarray  # lam_ij, (22)-(26)
    screws: np.ndarray  # xi_ij, (n_i, 6)
    zero_poses: list  # g_ij(0) of the link's centre of mass
    inertias: list  # M_ij, at the link's centre of mass in link axes
    tip_zero: np.ndarray  # g_i,tip(0) at the end of the last existing link, at the hip if there is none
    locked: np.ndarray  # locked position, nan if the joint moves
    rotors: np.ndarray  # inertia of the joints' rotors, which turn with their own joint only


def leg_constants(morphology: Morphology, leg: Leg) -> LegConstants:
    """Constants of one leg of a morphology."""
    mount = pose(leg.mount_rotation, leg.mount_position)
    existing = morphology.links(leg.name)
    zero_poses, inertias, tip_zero = [], [], mount
    for joint, link in zip(leg.joints, existing, strict=False):
        start = pose(link.rotation, joint.origin)
        zero_poses.append(mount @ start @ pose(np.eye(3), link.com))
        inertias.append(spatial_inertia(link.mass, np.zeros(3), link.inertia))
        tip_zero = mount @ start @ pose(np.eye(3), [link.length, 0, 0])
    locked = [morphology.locked_angle(leg.name, link.name) for link in leg.links]
    return LegConstants(
        lam=float(bool(existing)),
        lam_links=np.array([float(index < len(existing)) for index in range(len(leg.links))]),
        screws=np.array([Ad(mount) @ joint.screw for joint in leg.joints]),
        zero_poses=zero_poses,
        inertias=inertias,
        tip_zero=tip_zero,
        locked=np.array([np.nan if angle is None else angle for angle in locked]),
        rotors=np.array([joint.rotor_inertia for joint in leg.joints]),
    )


class LegTerms:
    """Kinematics and inertias of leg i at joint positions q_i, in the body frame; missing links are skipped (remark
    7).
    """

    def __init__(self, constants: LegConstants, q: np.ndarray) -> None:
        n = len(constants.screws)
        q = np.where(np.isnan(constants.locked), q, constants.locked)
        self.lam, self.lam_links, self.count = constants.lam, constants.lam_links, n
        self.rotors = constants.rotors
        self.J = np.zeros((6, n))  # its columns J^k, (14)-(17)
        moved = np.eye(4)  # exp(xi_i1 q_i1) ... exp(xi_ij q_ij)
        self.M_link, self.g_link, self.tip = [], [], constants.tip_zero
        for j in range(int(np.sum(constants.lam_links))):
            self.J[:, j] = Ad(moved) @ constants.screws[j]  # J^j
            moved = moved @ exp(constants.screws[j] * q[j])
            g = moved @ constants.zero_poses[j]  # (12)
            A = Ad(inverse(g))  # (33)
            self.M_link.append(A.T @ constants.inertias[j] @ A)  # (34)
            self.g_link.append(g)
            self.tip = moved @ constants.tip_zero

    def jacobian(self, j: int) -> np.ndarray:
        """J_ij (6, n_i), equation (13): the first j+1 columns of J; the others are zero."""
        J = np.zeros_like(self.J)
        J[:, : j + 1] = self.J[:, : j + 1]
        return J

    def mass(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M_00,i, M_0i, M_ii of the leg with its existence numbers (18)-(21), (31), (32)."""
        M00, M0i, Mii = np.zeros((6, 6)), np.zeros((6, self.count)), np.zeros((self.count, self.count))
        for j, Mj in enumerate(self.M_link):
            lam = self.lam * self.lam_links[j]
            J = self.jacobian(j)
            M00 += lam * Mj  # (18)
            M0i += lam * Mj @ J  # (19)
            Mii += lam * J.T @ Mj @ J  # (20), (21)
            Mii[j, j] += lam * self.rotors[j]
        return M00, M0i, Mii

    def dM_link(self, j: int, k: int) -> np.ndarray:
        """Derivative of Mlink_ij by q_ik: Lemma 3, (35) and (40); zero for k > j (remark 5)."""
        if k > j:
            return np.zeros((6, 6))
        bracket = ad(self.J[:, k])
        return -(bracket.T @ self.M_link[j] + self.M_link[j] @ bracket)

    def dJ(self, j: int, k: int) -> np.ndarray:
        """Derivative of J_ij by q_ik: Lemma 3, (43): ad_{J^k} J^l for the columns l with k < l <= j."""
        dJ = np.zeros((6, self.count))
        dJ[:, k + 1 : j + 1] = ad(self.J[:, k]) @ self.J[:, k + 1 : j + 1]
        return dJ

    def dmass(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of M_00,i, M_0i, M_ii by q_ik (Lemma 3, (35)-(37))."""
        dM00, dM0i, dMii = np.zeros((6, 6)), np.zeros((6, self.count)), np.zeros((self.count, self.count))
        for j, Mj in enumerate(self.M_link):
            lam = self.lam * self.lam_links[j]
            J, dMj, dJj = self.jacobian(j), self.dM_link(j, k), self.dJ(j, k)
            dM00 += lam * dMj  # (35)
            dM0i += lam * (dMj @ J + Mj @ dJj)  # (36)
            dMii += lam * (J.T @ dMj @ J + dJj.T @ Mj @ J + J.T @ Mj @ dJj)  # (37)
        return dM00, dM0i, dMii

    def gravity(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Head and leg rows of the potential force (9); weight: gravity acceleration (3,) in the body frame."""
        head, leg = np.zeros(6), np.zeros(self.count)
        fall = np.concatenate([weight, np.zeros(3)])
        for j, Mj in enumerate(self.M_link):
            lam = self.lam * self.lam_links[j]
            wrench = Mj @ fall  # weight of link j as a wrench in the body frame
            head -= lam * wrench
            leg -= lam * self.jacobian(j).T @ wrench
        return head, leg


class ClosedForm:
    """The paper's equations for one morphology; rows and columns of missing and locked joints are removed."""

    def __init__(self, morphology: Morphology) -> None:
        robot = morphology.robot
        self.robot, self.morphology = robot, morphology
        self.M0 = robot.body.spatial_inertia
        self.constants = [leg_constants(morphology, leg) for leg in robot.legs]
        self.joints = [robot.leg_joints(name) for name in robot.leg_names]
        # Algorithm 1: remaining rows and columns
        self.keep = np.concatenate([np.arange(6), 6 + np.flatnonzero(morphology.moving_mask)])

    def legs(self, q: np.ndarray) -> list[LegTerms]:
        """Terms of every leg at all joints' positions q (joint_count,)."""
        return [
            LegTerms(constants, np.asarray(q, dtype=float)[joints.start : joints.stop])
            for constants, joints in zip(self.constants, self.joints, strict=True)
        ]

    def _full(self) -> np.ndarray:
        return np.zeros((6 + self.robot.joint_count,) * 2)

    def expand(self, nu: np.ndarray) -> np.ndarray:
        """Expand (6 + n,) to all joints: rates of missing and locked joints are zero."""
        full = np.zeros(6 + self.robot.joint_count)
        full[self.keep] = nu
        return full

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Modular mass matrix (6+n, 6+n), (31) and (32)."""
        M = self._full()
        M[:6, :6] = self.M0
        for leg, joints in zip(self.legs(q), self.joints, strict=True):
            rows = slice(6 + joints.start, 6 + joints.stop)
            M00, M0i, Mii = leg.mass()
            M[:6, :6] += M00
            M[:6, rows] = M0i
            M[rows, :6] = M0i.T
            M[rows, rows] = Mii
        return M[np.ix_(self.keep, self.keep)]

    def mass_matrix_derivative(self, q: np.ndarray, joint: int) -> np.ndarray:
        """Derivative (6+n, 6+n) of the mass matrix by a joint (index among all joints), Lemma 3."""
        dM = self._full()
        for leg, joints in zip(self.legs(q), self.joints, strict=True):
            if joint in joints:
                rows = slice(6 + joints.start, 6 + joints.stop)
                dM[:6, :6], dM[:6, rows], dM[rows, rows] = leg.dmass(joint - joints.start)
                dM[rows, :6] = dM[:6, rows].T
        return dM[np.ix_(self.keep, self.keep)]

    def coriolis_matrix(self, q: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """Modular Coriolis matrix (6+n, 6+n), proposition 2, chosen so that Mdot - 2C is skew-symmetric.

        With P = M_00 V + M_0i qdot_i + ... the body's momentum and p_i leg i's, head rows of C nu are
        Mdot nu - ad_V^T P and leg rows Mdot nu - 1/2 d(nu^T M nu)/dq_i, (6) and (10).
        """
        nu = self.expand(nu)
        V = nu[:6]
        C = self._full()
        P = self.M0 @ V
        for leg, joints in zip(self.legs(q), self.joints, strict=True):
            rows = slice(6 + joints.start, 6 + joints.stop)
            rates = nu[rows]
            M00, M0i, _ = leg.mass()
            P += M00 @ V + M0i @ rates
            Mdot = [np.zeros((6, 6)), np.zeros((6, leg.count)), np.zeros((leg.count, leg.count))]
            dP = np.zeros((6, leg.count))  # dP/dq_i, (49)
            dp = np.zeros((leg.count, leg.count))  # dp_i/dq_i, (50), (51)
            for k in range(leg.count):
                derivative = leg.dmass(k)
                for total, part in zip(Mdot, derivative, strict=True):
                    total += part * rates[k]
                dP[:, k] = derivative[0] @ V + derivative[1] @ rates
                dp[:, k] = derivative[1].T @ V + derivative[2] @ rates
            C[:6, :6] += 0.5 * Mdot[0]  # (45)
            C[:6, rows] = 0.5 * (Mdot[1] + dP)  # (46)
            C[rows, :6] = 0.5 * (Mdot[1] - dP).T  # (47)
            C[rows, rows] = 0.5 * (Mdot[2] + dp - dp.T)  # (48)
        C[:6, :6] += momentum_bracket(P)  # -ad_V^T P = momentum_bracket(P) V, the Lie group's part of (45)
        return C[np.ix_(self.keep, self.keep)]

    def gravity_force(self, rotation: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Potential force (6+n,) on the left-hand side (9); rotation (3, 3): world <- base_link."""
        weight = np.asarray(rotation).T @ np.array([0.0, 0.0, -self.robot.gravity])
        g = np.zeros(6 + self.robot.joint_count)
        g[:6] = -self.M0[:, :3] @ weight
        for leg, joints in zip(self.legs(q), self.joints, strict=True):
            head, rows = leg.gravity(weight)
            g[:6] += head
            g[6 + joints.start : 6 + joints.stop] = rows
        return g[self.keep]

    def tip_jacobian(self, leg_name: str, q: np.ndarray) -> np.ndarray:
        """Body Jacobian (6, 6+n) of a leg's tip frame (11): V_tip = J nu, in the last existing link's axes."""
        index = self.robot.leg_names.index(leg_name)
        leg, joints = self.legs(q)[index], self.joints[index]
        J = np.zeros((6, 6 + self.robot.joint_count))
        A = Ad(inverse(leg.tip))
        J[:, :6] = A
        J[:, 6 + joints.start : 6 + joints.stop] = A @ leg.J
        return J[:, self.keep]

    def forward_dynamics(self, rotation: np.ndarray, q: np.ndarray, nu: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations (6+n,) under joint torques tau (n,): equation (6)."""
        force = np.concatenate([np.zeros(6), tau])
        bias = self.coriolis_matrix(q, nu) @ nu + self.gravity_force(rotation, q)
        return np.linalg.solve(self.mass_matrix(q), force - bias)

    def inverse_dynamics(self, rotation: np.ndarray, q: np.ndarray, nu: np.ndarray, nudot: np.ndarray) -> np.ndarray:
        """Wrench on the base and joint torques (6+n,) of a motion: equation (6)."""
        return self.mass_matrix(q) @ nudot + self.coriolis_matrix(q, nu) @ nu + self.gravity_force(rotation, q)


def momentum_bracket(momentum: np.ndarray) -> np.ndarray:
    """Skew matrix B(P) (6, 6) with B(P) V = -ad_V^T P for every twist V."""
    B = np.zeros((6, 6))
    B[:3, 3:] = B[3:, :3] = -skew(momentum[:3])
    B[3:, 3:] = -skew(momentum[3:])
    return B
