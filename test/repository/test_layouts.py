"""The layouts for RViz, Foxglove and PlotJuggler show topics that the nodes publish, by their documented names."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"
PUBLISHED = re.findall(r"`([a-z_/]+)`", "".join(re.findall(r"^\| `.*", (ROOT / "docs/nodes.md").read_text(), re.M)))


def of_rviz():
    displays = yaml.safe_load((CONFIG / "hexapod.rviz").read_text())["Visualization Manager"]["Displays"]
    return {d[key]["Value"] for d in displays for key in ("Topic", "Description Topic") if key in d}


def of_foxglove():
    panels = json.loads((CONFIG / "foxglove_layout.json").read_text())["configById"]
    plotted = [path["value"].split(".")[0] for panel in panels.values() for path in panel.get("paths", ())]
    return {*panels["3D!hexapod"]["topics"], *plotted}


def of_plotjuggler():
    root = ET.parse(CONFIG / "plotjuggler_layout.xml").getroot()
    return {curve.get(key) for curve in root.iter("curve") for key in ("curve_x", "name") if "/" in curve.get(key, "")}


@pytest.mark.parametrize("topics", [of_rviz, of_foxglove, of_plotjuggler])
def test_every_topic_of_a_layout_is_published(topics):
    shown = topics()
    assert len(shown) >= 3
    for topic in shown:
        assert any(re.match(rf"/?{name}(/|$)", topic) for name in PUBLISHED), f"nobody publishes {topic}"


@pytest.mark.parametrize("topics", [of_rviz, of_foxglove])
def test_what_carries_the_robot_is_shown(topics):
    assert {topic.strip("/") for topic in topics()} >= {"support", "predicted_path"}
