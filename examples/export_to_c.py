"""Export the model of a robot as plain C, compile it beside a small program, and call it.

python examples/export_to_c.py
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from hexapod_dynamics.dynamics.c_export import write_model
from hexapod_dynamics.robot import Robot

with tempfile.TemporaryDirectory() as folder:
    files = write_model(Robot.jethexa(), Path(folder))
    print("written:", ", ".join(f"{path.name} ({path.stat().st_size // 1024} kB)" for path in files))
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise SystemExit("no C compiler: sudo apt install build-essential")
    program = Path(folder, "example")
    library = f"{folder}/hexapod_model.so"  # on a microcontroller: compile hexapod_model.c
    subprocess.run([compiler, f"{folder}/main.c", library, f"-Wl,-rpath,{folder}", "-o", str(program)], check=True)
    print(f"compiled: {program.name} ({program.stat().st_size // 1024} kB)")
    subprocess.run([str(program)], check=True)  # its exit status says whether forward and inverse dynamics agree
    print("main.c: inverse dynamics of forward dynamics are the torques again, to 1e-9 N m, without heap or files")
