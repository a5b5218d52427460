"""Each limit of the detector has a test at its edge, which fails when the limit is 30 % smaller or larger."""

from dataclasses import fields, replace

import pytest
from support.limit_edges import bank, bus, decisions, leaning, model, suspected

from hexapod_dynamics.detection.limits import LIMITS, DetectorLimits

# A function of DetectorLimits for each limit: whether what the limit decides changes where it should, in the parts of
# the detector that use it, with inputs that are written out.
EDGES = {**bank.EDGES, **bus.EDGES, **decisions.EDGES, **leaning.EDGES, **model.EDGES, **suspected.EDGES}
NAMES = [field.name for field in fields(DetectorLimits)]


def changed(value, factor):
    """Return a limit that is 30 % smaller or larger: a count by one at least, and zero log odds by one."""
    if isinstance(value, int):
        return max(0, value + round(factor) * max(1, round(0.3 * value)))
    return value + factor * (0.3 * abs(value) if value else 1.0)


def test_there_is_one_for_each_limit():
    assert sorted(EDGES) == sorted(NAMES)
    modules = bank, bus, decisions, leaning, model, suspected
    assert sum(len(module.EDGES) for module in modules) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_that_is_changed_by_30_per_cent_shows(name):
    assert EDGES[name](LIMITS), "the limit is not at its edge"
    for factor in (-1, 1):
        other = replace(LIMITS, **{name: changed(getattr(LIMITS, name), factor)})
        assert not EDGES[name](other), f"nothing shows that {name} is {getattr(other, name)}"


def test_each_limit_says_what_it_means():
    assert all(field.metadata["meaning"] and "unit" in field.metadata for field in fields(DetectorLimits))
