"""A short soak of the drivers: every fault alone and some in pairs; `soak/device_soak.py` does it at length."""

import random

import pytest
from soak.device_soak import Rig, cases_of, run_case

CASES = cases_of("lx")
PAIRS = random.Random(5).sample([(a, b) for a in CASES for b in CASES if a < b], 5)


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    rig = Rig(tmp_path_factory.mktemp("devices"))
    yield rig
    rig.close()


@pytest.mark.parametrize("names", [*((name,) for name in CASES), *PAIRS], ids="+".join)
def test_a_fault_is_found_survived_and_recovered_from(rig, names):
    # On an idle machine: found within 1 s, recovered within 2 s. A busy CI machine gets eight times as long.
    _found, _recovered, complaints = run_case(rig, names, 0.3, patience=8.0)
    assert not complaints


@pytest.fixture(scope="module", params=["board", "dynamixel", "feetech"])
def other_rig(request, tmp_path_factory):
    """Servos of another kind, and its name."""
    rig = Rig(tmp_path_factory.mktemp("devices"), request.param)
    yield rig, request.param
    rig.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*cases_of("lx"), *cases_of("board")}))
def test_servos_of_other_kinds_have_the_same_faults(other_rig, name):
    rig, bus = other_rig
    if name not in cases_of(bus):
        pytest.skip(f"{bus} cannot have it")
    _found, _recovered, complaints = run_case(rig, (name,), 0.3, patience=8.0)
    assert not complaints
