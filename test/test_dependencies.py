"""Every import is declared: to pip in setup.py, to rosdep in package.xml."""
import ast
import importlib
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import setuptools

ROOT = Path(__file__).parents[1]
# Import names that differ from the name pip or rosdep knows.
PIP = {'serial': 'pyserial', 'yaml': 'pyyaml', 'urdf_parser_py': 'urdf-parser-py', 'Jetson': 'Jetson.GPIO',
       'pinocchio': 'pin'}
ROSDEP = {'urdf_parser_py': 'urdfdom_py', 'smbus2': 'python3-smbus2-pip', 'pinocchio': 'pinocchio'}
# Without a rosdep key: named in a comment of package.xml.
PYPI_ONLY = {'casadi', 'vqf', 'llvmlite', 'Jetson', 'mujoco'}
# Packages of ROS: a ROS 2 brings them, or pocket_ros2 does; pip does not know them.
ROS = {path.parent.name for path in (ROOT / 'pocket_ros2' / 'src').glob('*/__init__.py')} - {'pocket_ros2'}


def imported(*folders):
    """Return the top names of all imports in these folders that neither Python nor this package brings."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob('*.py')]
    assert paths
    names = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.partition('.')[0])
    ours = {'hexapod_dynamics', *(path.stem for path in paths)}
    return names - set(sys.stdlib_module_names) - ours


@pytest.fixture
def setup(monkeypatch):
    """Return what setup.py gives to setuptools."""
    given = {}
    monkeypatch.setattr(setuptools, 'setup', given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path('setup.py')
    return given


def test_setup_py_declares_every_import(setup):
    needed = {PIP.get(name, name) for name in imported('hexapod_dynamics', 'launch') - ROS}
    for_tests = {PIP.get(name, name) for name in imported('test') - ROS}
    declared = {*setup['install_requires'], *setup['extras_require']['jetson']}
    assert needed - declared == set()
    assert for_tests - declared - set(setup['extras_require']['test']) == set()


def test_package_xml_declares_every_import():
    text = (ROOT / 'package.xml').read_text()
    package = ElementTree.fromstring(text)
    declared = {each.text for each in package if each.tag.endswith('depend')}
    for_use = {each.text for each in package if each.tag in ('exec_depend', 'depend')}

    def missing(names, known):
        return {name for name in names - PYPI_ONLY
                if name not in known and ROSDEP.get(name, f'python3-{name}') not in known}

    assert missing(imported('hexapod_dynamics', 'launch'), for_use) == set()
    assert missing(imported('test') - {'setuptools'}, declared) == set()
    assert {name for name in imported('hexapod_dynamics', 'launch') & PYPI_ONLY if name not in text} == set()


def test_every_program_exists(setup):
    for entry in setup['entry_points']['console_scripts']:
        module, function = entry.split(' = ')[1].split(':')
        assert callable(getattr(importlib.import_module(module), function))
