import sys
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

sys.path.insert(0, str(Path(__file__).resolve().parent))  # colcon links this file to elsewhere, not the one beside it

from build_kernels import BuildKernels, kernel_extensions
from build_native import MODEL, BuildNative

package_name = "hexapod_dynamics"


class BuildExtensions(BuildKernels, BuildNative):
    """Builds what Cython translates, the model's extension and JetHexa's libraries."""


setup(
    name=package_name,
    version="0.2.0",
    packages=find_packages(include=[package_name, f"{package_name}.*"]),
    ext_modules=[MODEL, *kernel_extensions()],
    cmdclass={"build_ext": BuildExtensions},
    package_data={package_name: ["py.typed", "native/*.c", "native/include/*", "native/example/*"]},
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
        "casadi>=3.6,<4",
        "pyserial>=3.5,<4",
        "smbus2>=0.4.1,<1",
        "pyyaml>=5.4.1,<7",
        "matplotlib>=3.5.1,<4",
        "urdf-parser-py>=0.0.4,<2",
    ],
    extras_require={
        # Not required: rosdep does not know it, and a console script refuses to start where a requirement is missing.
        "attitude": ["vqf>=2.0,<3"],
        "jetson": ["Jetson.GPIO>=2.0,<3"],
        "learning": ["gymnasium>=1.0,<2"],
        "mujoco": ["mujoco>=3.2,<5"],
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
            "pytest>=6.2.5,<10",
            "hypothesis>=6.36,<7",
            "pin>=2.6,<5",
            "mujoco>=3.2,<5",
            "mpmath>=1.2,<2",
            "psutil>=5.9,<8",
            "playwright>=1.40,<2",
            "distributed>=2022.2,<2028",
            "gymnasium>=1.0,<2",
            "viser>=1.1,<1.1.2",
            "zstandard>=0.20,<1",
        ],
    },
    # C parts, see build_native.py; Cython's extensions belong in the same list.
    zip_safe=False,
    maintainer="The hexapod_dynamics authors",
    maintainer_email="hexapod-dynamics@example.org",
    description="Keeps a six-legged robot walking when it loses a leg.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{node} = {package_name}.ros.start:{node}"
            for node in (
                "imu",
                "servos",
                "gait",
                "dynamics",
                "damage_manager",
                "simulator",
                "robot_description",
                "view",
                "damage_detector",
            )
        ]
        + [
            f"set_morphology = {package_name}.tools.set_morphology:main",
            f"servo_tool = {package_name}.tools.servo_tool:main",
            f"check_robot = {package_name}.tools.check_robot:main",
            f"walk_status = {package_name}.ros.start:walk_status",
            f"companions = {package_name}.ros.start:companions",
            f"compile = {package_name}.tools.compile_model:main",
            f"plan = {package_name}.tools.plan:main",
            f"identify = {package_name}.tools.identify:main",
            f"reproduce = {package_name}.papers.reproduce:main",
            f"plot = {package_name}.bench.plots.plot:main",
        ],
    },
)
