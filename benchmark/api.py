"""Every public call of the whole-body model beside Pinocchio's same call: agreement, times, and their ratio.

    ./with_ros2 python3 benchmark/api.py [--quick]

Needs `pip install pin` beside the package. One robot (JetHexa, whole), one state, one core. The two calls take turns;
the time of each is its best of many rounds, so that the load of the machine falls out, and what a caller pays: no
empty call is subtracted. Pinocchio has its joint types for aligned axes, which are its quicker ones. Its calls that
need others first (poses before a point's acceleration) are measured with them.
"""

import argparse
import os
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from results import best_times
from support.pinocchio_robot import PinocchioRobot
from support.random_robots import rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.robot import Morphology, Robot

WORLD = pin.LOCAL_WORLD_ALIGNED


def symmetric(upper):
    """Full matrix of one whose upper half is given."""
    return np.triu(upper) + np.triu(upper, 1).T


class Calls:
    """All calls on one state: {name: (ours, Pinocchio's name, theirs, both results as comparable arrays)}."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.robot = Robot.jethexa()
        self.whole = whole = Morphology.whole(self.robot)
        self.model = m = WholeBodyModel(self.robot)
        R, p, q = rotation(rng), rng.normal(size=3), rng.normal(size=18) * 0.5
        nu, nudot, tau = rng.normal(size=24), rng.normal(size=24), rng.normal(size=18)
        peer = PinocchioRobot(whole, aligned=True)
        pm, pd, pq = peer.model, peer.data, peer.configuration(R, q)
        pq[:3] = p
        generalised, still = np.concatenate([np.zeros(6), tau]), np.zeros(24)
        names = self.robot.leg_names
        forces = {leg: rng.normal(size=3) for leg in names}
        frame = peer.tips["LF"]
        tip = np.array([self.robot.leg("LF").links[-1].length, 0.0, 0.0])
        wrenches = self._wrenches(peer, pq, forces)
        stance = list(names[:3])
        contacts, datas, constrained = self._contacts(peer, stance)

        def poses():
            pin.framesForwardKinematics(pm, pd, pq)
            return [pd.oMf[peer.tips[leg]].translation for leg in names]

        def our_tips(result):
            return [result[f"{leg}.tibia"][1] + result[f"{leg}.tibia"][0] @ tip for leg in names]

        def drift():
            pin.forwardKinematics(pm, pd, pq, nu, still)
            return pin.getFrameClassicalAcceleration(pm, pd, frame, WORLD).linear

        def whole_bias(bias):
            return R @ (bias + np.cross(nu[3:6], m.point_jacobian("LF.tibia", tip, q) @ nu))

        def inverse_derivatives():
            pin.computeRNEADerivatives(pm, pd, pq, nu, nudot)
            return pd.dtau_dq, pd.dtau_dv, pd.M

        def forward_derivatives():
            pin.computeABADerivatives(pm, pd, pq, nu, generalised)
            return pd.ddq_dq, pd.ddq_dv, pd.Minv

        def same(value):
            return value

        def inverse_parts(three):
            return np.concatenate([three[0], three[1], symmetric(three[2])])

        def forward_parts(three):
            return np.concatenate([three[0], three[1]])

        coriolis_bias = pin.rnea(pm, pd, pq, nu, still) - pin.computeGeneralizedGravity(pm, pd, pq)
        # name: ours, Pinocchio's name, theirs, what of ours and what of theirs must be equal
        self.rows = {
            "forward_dynamics": (lambda: m.forward_dynamics(R, q, nu, tau), "aba",
                                 lambda: pin.aba(pm, pd, pq, nu, generalised), same, same),
            "forward_dynamics, 6 tip forces": (lambda: m.forward_dynamics(R, q, nu, tau, whole, forces), "aba, fext",
                                               lambda: pin.aba(pm, pd, pq, nu, generalised, wrenches), same, same),
            "inverse_dynamics": (lambda: m.inverse_dynamics(R, q, nu, nudot), "rnea",
                                 lambda: pin.rnea(pm, pd, pq, nu, nudot), same, same),
            "mass_matrix": (lambda: m.mass_matrix(q), "crba", lambda: pin.crba(pm, pd, pq), same, symmetric),
            "coriolis_matrix": (lambda: m.coriolis_matrix(q, nu), "computeCoriolisMatrix",
                                lambda: pin.computeCoriolisMatrix(pm, pd, pq, nu),
                                lambda C: C @ nu, lambda C: coriolis_bias),
            "gravity_force": (lambda: m.gravity_force(R, q), "computeGeneralizedGravity",
                              lambda: pin.computeGeneralizedGravity(pm, pd, pq), same, same),
            "tip_jacobian": (lambda: m.tip_jacobian("LF", q), "computeFrameJacobian",
                             lambda: pin.computeFrameJacobian(pm, pd, pq, frame, pin.LOCAL), same, same),
            "link_poses": (lambda: m.link_poses(R, p, q), "framesForwardKinematics", poses, our_tips, same),
            "point_jacobian": (lambda: m.point_jacobian("LF.tibia", tip, q), "computeFrameJacobian",
                               lambda: pin.computeFrameJacobian(pm, pd, pq, frame, WORLD),
                               lambda J: R @ J, lambda J: J[:3]),
            "point_acceleration_bias": (lambda: m.point_acceleration_bias("LF.tibia", tip, q, nu),
                                        "getFrameClassicalAcceleration", drift, whole_bias, same),
            "center_of_mass": (lambda: m.center_of_mass(R, p, q), "centerOfMass",
                               lambda: pin.centerOfMass(pm, pd, pq), same, same),
            "total_mass": (lambda: m.total_mass(), "computeTotalMass", lambda: pin.computeTotalMass(pm), same, same),
            "centroidal_momentum": (lambda: m.centroidal_momentum(R, q, nu), "computeCentroidalMomentum",
                                    lambda: pin.computeCentroidalMomentum(pm, pd, pq, nu), same, np.array),
            "kinetic_energy": (lambda: m.kinetic_energy(q, nu), "computeKineticEnergy",
                               lambda: pin.computeKineticEnergy(pm, pd, pq, nu), same, same),
            "potential_energy": (lambda: m.potential_energy(R, p, q), "computePotentialEnergy",
                                 lambda: pin.computePotentialEnergy(pm, pd, pq), same, same),
            "constrained_forward_dynamics": (
                lambda: m.constrained_forward_dynamics(R, q, nu, tau, stance), "constraintDynamics",
                lambda: pin.constraintDynamics(pm, constrained, pq, nu, generalised, contacts, datas),
                lambda result: result[0], same),
            "inverse_dynamics_derivatives": (lambda: m.inverse_dynamics_derivatives(R, q, nu, nudot),
                                             "computeRNEADerivatives", inverse_derivatives,
                                             inverse_parts, inverse_parts),
            "forward_dynamics_derivatives": (lambda: m.forward_dynamics_derivatives(R, q, nu, tau),
                                             "computeABADerivatives", forward_derivatives,
                                             forward_parts, forward_parts),
        }  # fmt: skip

    @staticmethod
    def _wrenches(peer, pq, forces):
        """World forces at the tips as Pinocchio's wrenches on joints, in the joints' frames."""
        pin.framesForwardKinematics(peer.model, peer.data, pq)
        wrenches = pin.StdVec_Force()
        for _ in range(peer.model.njoints):
            wrenches.append(pin.Force.Zero())
        for leg, force in forces.items():
            frame = peer.model.frames[peer.tips[leg]]
            local = peer.data.oMf[peer.tips[leg]].rotation.T @ force
            wrenches[frame.parentJoint] = frame.placement.act(pin.Force(local, np.zeros(3)))
        return wrenches

    @staticmethod
    def _contacts(peer, stance):
        contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for leg in stance:
            frame = peer.model.frames[peer.tips[leg]]
            where = frame.parentJoint, frame.placement
            contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, peer.model, *where, WORLD))
        for contact in contacts:
            datas.append(contact.createData())
        data = peer.model.createData()
        pin.initConstraintDynamics(peer.model, data, contacts, datas)
        return contacts, datas, data


def difference(ours, theirs):
    """Largest difference against the largest entry."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    return float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))


def batches(calls: Calls, rounds: int) -> None:
    """Print states a second of 100,000 in one call, on one core and on all; Pinocchio's loops beside them."""
    rng, count, m, cores = np.random.default_rng(1), 100_000, calls.model, os.sched_getaffinity(0)
    R = np.array([rotation(rng) for _ in range(100)])[rng.integers(100, size=count)]
    q, tau, (nu, nudot) = *rng.normal(size=(2, count, 18)), rng.normal(size=(2, count, 24))
    peer = PinocchioRobot(calls.whole, aligned=True)
    columns = np.asfortranarray(np.stack([peer.configuration(R[i], q[i]) for i in range(count)], axis=1))
    rates, accelerations = np.asfortranarray(nu.T), np.asfortranarray(nudot.T)
    motor = np.asfortranarray(np.concatenate([np.zeros((6, count)), tau.T]))
    print(f"\n{count} states in one call, best of {rounds}, million states a second")
    print(f"{'call':34}{'cores':>6}{'Pinocchio':>24}{'ours':>8}{'theirs':>8}{'ratio':>7}{'difference':>12}")
    for used in sorted({1, len(cores)}):
        os.sched_setaffinity(0, sorted(cores)[:used])
        pool, result = pin.ModelPool(peer.model, used), np.asfortranarray(np.zeros((24, count)))
        forward = partial(m.forward_dynamics_batch, R, q, nu, tau), "abaInParallel"
        inverse = partial(m.inverse_dynamics_batch, R, q, nu, nudot), "rneaInParallel"
        given_there = motor, accelerations
        for (ours, name), last in zip((forward, inverse), given_there, strict=True):
            theirs = partial(getattr(pin, name), used, pool, columns, rates, last, result)
            theirs()
            apart = difference(ours(), result.T)
            a, b = best_times([ours, theirs], rounds, 1)
            print(f"{ours.func.__name__:34}{used:6}{name:>24}", end="")
            print(f"{count / a / 1e6:8.2f}{count / b / 1e6:8.2f}{b / a:7.2f}{apart:12.1e}")
    os.sched_setaffinity(0, cores)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    quick = parser.parse_args().quick
    rounds, number = (15, 50) if quick else (60, 100)
    print(f"Pinocchio {pin.__version__}, us a call from Python, best of {rounds} rounds\n")
    print(f"{'call':34}{'Pinocchio':32}{'ours':>8}{'theirs':>8}{'ratio':>7}{'difference':>12}")
    calls = Calls()
    for name, (ours, peer, theirs, of_ours, of_theirs) in calls.rows.items():
        apart = difference(of_ours(ours()), of_theirs(theirs()))
        a, b = best_times([ours, theirs], rounds, number)
        print(f"{name:34}{peer:32}{a * 1e6:8.2f}{b * 1e6:8.2f}{b / a:7.2f}{apart:12.1e}", flush=True)
    batches(calls, 5 if quick else 20)


if __name__ == "__main__":
    main()
