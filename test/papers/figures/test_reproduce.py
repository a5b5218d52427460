"""`reproduce`: the damaged hexapod's pictures and data are made, and what they show is what the paper says."""

import csv

import numpy as np
import pytest

from hexapod_dynamics.papers.reproduce import PAPERS, main, plain_text, reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduced") / "made" / "on the way"
    assert main(["farghdani2025", "--output", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("figure", [3, 4, 5, 6, 7, 8, "runtime"])
def test_each_figure_is_a_picture(folder, figure):
    name = f"farghdani2025_figure{figure}.png" if figure != "runtime" else "farghdani2025_runtime.png"
    content = (folder / name).read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 15_000


def test_the_data_are_those_of_the_figures(folder):
    with (folder / "farghdani2025_figure6_figure7.csv").open() as file:
        header, *rows = csv.reader(file)
    data = np.array(rows, float)
    assert data.shape == (520, 13) and header[0] == "t [s]" and header[8] == "damage 2 Y [mm]"
    assert data[-1, 0] == pytest.approx(5.2)
    assert 100.0 < data[-1, 8] < 180.0  # forward along the paper's y
    assert 15.0 < data[-1, 12] < 35.0  # turned about z


def test_everything_agrees_with_the_paper_but_the_speed_on_viscous_friction(folder):
    with (folder / "farghdani2025_findings.csv").open() as file:
        _, *rows = csv.reader(file)
    differs = [words for words, _, verdict in rows if verdict != "agrees"]
    assert len(rows) >= 12
    assert [words.split(" (")[0] for words in differs] == ["healthy: constant velocity"]


def test_the_terminal_shows_words_and_tables_without_pictures(folder):
    text = plain_text(folder / "farghdani2025.md")
    assert "damage 1: stays in the Y direction" in text and ".png" not in text and ".csv" not in text


def test_every_paper_on_the_list_has_its_module():
    import importlib

    for paper in PAPERS:
        assert callable(importlib.import_module(f"hexapod_dynamics.papers.figures.{paper}").reproduce)


def test_an_unknown_paper_is_answered_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["newton1687"])
    assert "farghdani2025" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["farghdani2025", "--output", str(tmp_path / "file" / "folder")]) == 1
    assert str(tmp_path / "file" / "folder") in capsys.readouterr().err


# ---- one of the four pages of formulations, which is quick to make ---------------------------------------------------


def test_the_franka_arms_five_figures_are_made(tmp_path):
    (page,) = reproduce(["mueller_kumar"], tmp_path, progress=lambda paper: lambda fraction, what: None)
    assert all(f"mueller_kumar_figure{k}.png" in page.read_text() for k in range(1, 6))
    with (tmp_path / "mueller_kumar_agreement.csv").open() as file:
        _, *agreement = csv.reader(file)
    assert [row[0] for row in agreement] == ["0", "1", "2", "3"]
    for _, largest, apart in agreement:
        assert float(apart) < 1e-8 * float(largest)
    assert float(agreement[3][1]) == pytest.approx(272, abs=1)  # N m/s^3 along this trajectory
