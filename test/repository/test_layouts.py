"""The layouts for RViz, Foxglove and PlotJuggler are valid, and their topics are those of the nodes.

None of the three programs is here; their formats are those of their sources: Lichtblick (the open Foxglove)
ThreeDeeRender/IRenderer.ts, Urdfs.ts, Grids.ts, CurrentLayoutContext/actions.ts; PlotJuggler plot_docker.cpp and
mainwindow.cpp; plotjuggler-ros-plugins parser_configuration.cpp; RViz's plugins_description.xml.
"""

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


def foxglove():
    return json.loads((CONFIG / "foxglove_layout.json").read_text())


def of_foxglove():
    panels = foxglove()["configById"]
    scene = panels["3D!hexapod"]
    plotted = [path["value"].split(".")[0] for panel in panels.values() for path in panel.get("paths", ())]
    urdfs = [layer["topic"] for layer in scene["layers"].values() if "topic" in layer]
    tables = [panel["topicToRender"] for panel in panels.values() if "topicToRender" in panel]
    return {*scene["topics"], *plotted, *urdfs, *tables}


def plotjuggler():
    return ET.parse(CONFIG / "plotjuggler_layout.xml").getroot()


def of_plotjuggler():
    return {
        curve.get(key)
        for curve in plotjuggler().iter("curve")
        for key in ("curve_x", "name")
        if "/" in curve.get(key, "")
    }


@pytest.mark.parametrize("topics", [of_rviz, of_foxglove, of_plotjuggler])
def test_every_topic_of_a_layout_is_published(topics):
    shown = topics()
    assert len(shown) >= 3
    for topic in shown:
        assert any(re.match(rf"/?{name}(/|$)", topic) for name in PUBLISHED), f"nobody publishes {topic}"
