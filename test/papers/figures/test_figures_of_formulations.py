"""Two of the four pages, which are quick to make; `reproduce all` makes every one."""

import csv

import pytest

from hexapod_dynamics.papers.figures import hollerbach1980, mueller_kumar


def rows_of(path):
    with path.open() as file:
        return list(csv.reader(file))


@pytest.mark.slow  # 12 s: it counts and times six formulations; test_hollerbach.py holds the counts
def test_hollerbachs_tables_stand_beside_ours(tmp_path):
    seen = []
    page = hollerbach1980.reproduce(tmp_path, lambda fraction, what: seen.append(fraction))
    assert page.name == "hollerbach1980.md" and seen[0] == 0.0 and seen[-1] == 1.0 and seen == sorted(seen)
    _, *table = rows_of(tmp_path / "hollerbach1980_table2.csv")
    assert ["Horn, Raibert", "468", "468", "264", "264"] in table
    assert ["Hollerbach (4x4)", "4388", "4251", "3586", "3346"] in table
    orders = {row[0]: [float(v) for v in row[1:]] for row in rows_of(tmp_path / "hollerbach1980_orders.csv")[1:]}
    assert orders["Uicker/Kahn"][1] > 3.7 and 1.8 < orders["Waters"][1] < 2 and orders["Newton-Euler"][1] < 1.05
    for name in ("operations", "times"):
        assert (tmp_path / f"hollerbach1980_{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_franka_arms_five_figures_are_made(tmp_path):
    page = mueller_kumar.reproduce(tmp_path, lambda fraction, what: None)
    assert all(f"mueller_kumar_figure{k}.png" in page.read_text() for k in range(1, 6))
    _, *agreement = rows_of(tmp_path / "mueller_kumar_agreement.csv")
    assert [row[0] for row in agreement] == ["0", "1", "2", "3"]
    for _, largest, apart in agreement:
        assert float(apart) < 1e-8 * float(largest)
    assert float(agreement[3][1]) == pytest.approx(272, abs=1)  # N m/s^3 along this trajectory
