import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

sys.path.insert(0, str(Path(__file__).resolve().parent))  # colcon links this file to elsewhere, not the one beside it


from build_core import CORE, BuildCore

package_name = "hexapod_dynamics"


NODES = (
    "imu",
    "servos",
    "gait",
    "dynamics",
    "damage_manager",
    "simulator",
    "robot_description",
    "view",
    "damage_detector",
    "walk_status",
    "companions",
)
COMMANDS = {node: f"{package_name}.ros.start:{node}" for node in NODES} | {
    "set_morphology": f"{package_name}.ros.start:set_morphology",
    "check_robot": f"{package_name}.tools.check_robot:main",
    "servo_tool": f"{package_name}.tools.servo_tool:main",
    "compile": f"{package_name}.tools.compile_model:main",
    "plan": f"{package_name}.tools.plan:main",
    "identify": f"{package_name}.tools.identify:main",
    "new_robot": f"{package_name}.tools.new_robot:main",
    "record": f"{package_name}.tools.record:main",
    "score": f"{package_name}.tools.score:main",
    "train_detector": f"{package_name}.tools.train_detector:main",
    "reproduce": f"{package_name}.papers.reproduce:main",
    "plot": f"{package_name}.tools.plot:main",
}
# colcon puts the commands where only `ros2 run hexapod_dynamics` finds them, pip into the environment's bin directory,
# beside everybody else's.
PREFIX = "hexapod-" if {"bdist_wheel", "dist_info", "editable_wheel"} & set(sys.argv) else ""


setup(
    name=package_name,
    version="0.2.0",
    packages=find_packages(include=[package_name, f"{package_name}.*"]),
    ext_modules=[CORE],
    cmdclass={"build_ext": BuildCore},
    package_data={
        package_name: ["py.typed", "core/*.h", "core/*.pyi", "core/example/*", "detection/*.npz", "view/*.js"]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package_name}"]),
        (f"share/{package_name}", ["package.xml"]),
        # Not an entry point: finding that takes as long as the stop. setuptools would give `scripts` a line "#!python".
        (f"lib/{package_name}", ["scripts/stop"]),
        ("bin", ["scripts/hexapod-stop"]),
        (f"share/{package_name}/launch", glob("launch/*.launch.py")),
        (
            f"share/{package_name}/config",
            glob("config/*.yaml") + glob("config/*.py") + glob("config/*.rviz") + glob("config/*_layout.*"),
        ),
    ],
    # Lower bounds: what Ubuntu 22.04 has; upper: the next major version.
    install_requires=[
        "setuptools>=59.6,<83",
        "numpy>=1.21.5,<3",
        "scipy>=1.8.0,<2",
        "pyserial>=3.5,<4",
        "smbus2>=0.4.1,<1",
        "pyyaml>=5.4.1,<7",
        "matplotlib>=3.5.1,<4",
    ],
    extras_require={
        # Not required: rosdep does not know it, and a console script refuses to start where a requirement is missing.
        "attitude": ["vqf>=2.0,<3"],
        "jetson": ["Jetson.GPIO>=2.0,<3"],
        # WholeBodyModel.casadi_function, the paper of Kusaka and Tanaka; no node.
        "casadi": ["casadi>=3.6,<4"],
        "learning": ["gymnasium>=1.0,<2"],
        "sim": ["mujoco>=3.2,<5"],
        "view": [
            "viser>=1.1,<1.1.2",
            "websockets>=13.1,<17",
            "msgspec>=0.18,<1",
            "rich>=13.3,<16",
            "trimesh>=3.9,<6",
            "rosbags>=0.9,<1",
        ],
        "test": [
            "vqf>=2.0,<3",
            "casadi>=3.6,<4",
            "pytest>=6.2.5,<10",
            "pytest-xdist>=2.5,<4",
            "hypothesis>=6.36,<7",
            "pin>=2.6,<5",
            "mujoco>=3.2,<5",
            "psutil>=5.9,<8",
            "playwright>=1.40,<2",
            "gymnasium>=1.0,<2",
            "viser>=1.1,<1.1.2",
            "zstandard>=0.20,<1",
            "dynamixel-sdk>=3.7,<5",
            "ftservo-python-sdk>=1.0,<3",
        ],
    },
    # C parts, see build_core.py.
    zip_safe=False,
    python_requires=">=3.10",
    maintainer="The hexapod_dynamics authors",
    description="Keeps a six-legged robot walking when it loses a leg.",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Cython",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Physics",
    ],
    entry_points={"console_scripts": [f"{PREFIX}{name} = {entry}" for name, entry in COMMANDS.items()]},
)
