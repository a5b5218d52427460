"""One of the four pages, which is quick to make; `reproduce all` makes every one."""

import csv

import pytest

from hexapod_dynamics.papers.reproduce import reproduce


def rows_of(path):
    with path.open() as file:
        return list(csv.reader(file))


def test_the_franka_arms_five_figures_are_made(tmp_path):
    (page,) = reproduce(["mueller_kumar"], tmp_path, progress=lambda paper: lambda fraction, what: None)
    assert all(f"mueller_kumar_figure{k}.png" in page.read_text() for k in range(1, 6))
    _, *agreement = rows_of(tmp_path / "mueller_kumar_agreement.csv")
    assert [row[0] for row in agreement] == ["0", "1", "2", "3"]
    for _, largest, apart in agreement:
        assert float(apart) < 1e-8 * float(largest)
    assert float(agreement[3][1]) == pytest.approx(272, abs=1)  # N m/s^3 along this trajectory
