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
RVIZ = {
    **dict.fromkeys(("Grid", "RobotModel", "Path", "MarkerArray", "Odometry", "TF"), "display"),
    **dict.fromkeys(("MoveCamera", "Select"), "tool"),
    "ThirdPersonFollower": "view",
}
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


@pytest.mark.parametrize("topics", [of_rviz, of_foxglove])
def test_what_carries_the_robot_is_shown(topics):
    assert {topic.strip("/") for topic in topics()} >= {"support", "predicted_path"}


def leaves(node):
    """Ids of the panels in a tree of react-mosaic."""
    if isinstance(node, str):
        return [node]
    assert node["direction"] in ("row", "column") and 0 < node["splitPercentage"] < 100
    return [*leaves(node["first"]), *leaves(node["second"])]


def test_foxglove_shows_each_panel_once_and_two_robots():
    layout = foxglove()
    panels = layout["configById"]
    assert sorted(leaves(layout["layout"])) == sorted(panels)
    assert {panel.split("!")[0] for panel in panels} == {"3D", "DiagnosticSummary", "Plot", "Parameters"}
    layers = panels["3D!hexapod"]["layers"]
    for name, layer in layers.items():
        assert layer["instanceId"] == name and layer["visible"]
        assert layer["layerId"] in ("foxglove.Grid", "foxglove.Urdf")
    robots = [layer for layer in layers.values() if layer["layerId"] == "foxglove.Urdf"]
    assert {(robot["sourceType"], robot["topic"], robot["framePrefix"]) for robot in robots} == {
        ("topic", "/robot_description", ""),
        ("topic", "/predicted/robot_description", "predicted/"),
    }
    for path in panels["Plot!motion"]["paths"]:
        assert path["timestampMethod"] in ("receiveTime", "headerStamp") and path["enabled"]


def test_plotjuggler_subscribes_to_what_it_plots_and_fills_its_docks():
    root = plotjuggler()
    window = root.find("tabbed_widget")
    assert window.get("parent") == "main_window" and window.get("name") == "Main Window"
    for splitter in root.iter("DockSplitter"):
        sizes = [float(size) for size in splitter.get("sizes").split(";")]
        assert int(splitter.get("count")) == len(splitter) == len(sizes) and abs(sum(sizes) - 1.0) < 0.02
        assert splitter.get("orientation") in ("-", "|")
        assert all(child.tag in ("DockArea", "DockSplitter") for child in splitter)
    for plot in root.iter("plot"):
        kinds = {curve.get("curve_x") is not None for curve in plot.iter("curve")}
        assert kinds == {plot.get("mode") == "XYPlot"}
    streamer = root.find("previouslyLoaded_Streamer").get("name")
    plugin = root.find(f"Plugins/plugin[@ID='{streamer}']")
    selected = plugin.find("selected_topics").get("value").split(";")
    assert int(plugin.find("max_array_size").get("value")) > 0
    for curve in of_plotjuggler():
        assert any(curve.startswith(f"{topic}/") for topic in selected), f"{curve} is not subscribed to"


def test_rviz_has_each_class_of_the_configuration():
    manager = yaml.safe_load((CONFIG / "hexapod.rviz").read_text())["Visualization Manager"]
    used = {item["Class"]: "display" for item in manager["Displays"]} | {t["Class"]: "tool" for t in manager["Tools"]}
    used[manager["Views"]["Current"]["Class"]] = "view"
    for name, kind in used.items():
        package, _, plugin = name.partition("/")
        assert package == "rviz_default_plugins" and RVIZ[plugin] == kind
