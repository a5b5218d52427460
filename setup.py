from glob import glob

from setuptools import find_packages, setup

package_name = 'hexapod_dynamics'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        (f'share/{package_name}/launch', glob('launch/*.launch.py')),
        (f'share/{package_name}/config', glob('config/*.yaml') + glob('config/*.py')),
    ],
    install_requires=[
        'setuptools', 'numpy', 'scipy', 'numba', 'llvmlite', 'sympy', 'casadi', 'pyserial', 'smbus2', 'vqf', 'pyyaml',
        'matplotlib', 'urdf-parser-py',
    ],
    extras_require={
        'jetson': ['Jetson.GPIO'],
        'test': ['pytest', 'hypothesis', 'pin', 'mujoco', 'mpmath', 'psutil', 'distributed'],
    },
    zip_safe=True,
    maintainer='The hexapod_dynamics authors',
    maintainer_email='hexapod-dynamics@example.org',
    description='Keeps a six-legged robot walking when it loses a leg.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            f'{node} = {package_name}.nodes.start:{node}'
            for node in ('imu', 'servos', 'gait', 'dynamics', 'damage_manager', 'simulator')
        ] + [
            f'set_morphology = {package_name}.tools.set_morphology:main',
            f'servo_tool = {package_name}.tools.servo_tool:main',
            f'walk_status = {package_name}.nodes.start:walk_status',
            f'reproduce = {package_name}.tools.reproduce:main',
        ],
    },
)
