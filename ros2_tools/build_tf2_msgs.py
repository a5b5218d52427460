"""Make the package tf2_msgs, which PyPI's wheels lack, for the Python that runs this:  build_tf2_msgs.py WORK_FOLDER

The rosidl generators of the wheels write C structures, their conversion and both type supports of Fast DDS from the
one definition; gcc and g++ compile them to one extension module. No CMake: a type support is a table of pointers, which
need not be in a library of its own.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

NAME = "tf2_msgs"
MESSAGE, DEFINITION = "TFMessage", "geometry_msgs/TransformStamped[] transforms\n"
DEPENDENCIES = ("geometry_msgs", "std_msgs", "builtin_interfaces")
SUPPORTS = ("rosidl_typesupport_fastrtps_c", "rosidl_typesupport_introspection_c")
TYPES = "rosidl_generator_type_description"
PREFIX = Path(sys.prefix)
SHARE, LIBRARIES, INCLUDE = PREFIX / "share", PREFIX / "lib", PREFIX / "include"
PACKAGE = Path(sysconfig.get_path("platlib")) / NAME


def generate(work: Path) -> None:
    """Write all sources below a folder, and the definitions where `ros2 interface` looks for them."""
    os.environ["AMENT_PREFIX_PATH"] = str(PREFIX)
    import rosidl_generator_c
    import rosidl_generator_py
    import rosidl_generator_type_description
    import rosidl_typesupport_c
    import rosidl_typesupport_fastrtps_c
    import rosidl_typesupport_introspection_c
    from rosidl_adapter.msg import convert_msg_to_idl

    definitions, idl = SHARE / NAME / "msg", work / NAME
    for folder in (definitions, idl / "msg"):
        folder.mkdir(parents=True, exist_ok=True)
    (definitions / f"{MESSAGE}.msg").write_text(DEFINITION)
    convert_msg_to_idl(SHARE / NAME, NAME, Path("msg", f"{MESSAGE}.msg"), idl / "msg")
    others = sorted(each for each in SHARE.iterdir() if each.name != NAME and (each / "msg").is_dir())

    def arguments(generator: str) -> str:
        """Return the path of a generator's arguments, as rosidl's CMake writes them."""
        path = work / f"{generator}.json"
        values = {
            "package_name": NAME,
            "output_dir": str(work / generator / NAME),
            "template_dir": str(SHARE / generator / "resource"),
            "idl_tuples": [f"{idl}:msg/{MESSAGE}.idl"],
            "target_dependencies": [],
            "ros_interface_dependencies": [f"{each.name}:{file}" for each in others for file in each.glob("msg/*.idl")],
            "include_paths": [f"{each.name}:{each}" for each in others],
            "type_description_tuples": [f"msg/{MESSAGE}.idl:{work / TYPES / NAME / 'msg' / MESSAGE}.json"],
        }
        path.write_text(json.dumps(values))
        return str(path)

    rosidl_generator_type_description.generate_type_hash(arguments(TYPES))
    rosidl_generator_c.generate_c(arguments("rosidl_generator_c"))
    rosidl_typesupport_fastrtps_c.generate_typesupport_fastrtps_c(arguments(SUPPORTS[0]))
    rosidl_typesupport_introspection_c.generate_c(arguments(SUPPORTS[1]))
    rosidl_typesupport_c.generate_c(arguments("rosidl_typesupport_c"), list(SUPPORTS))
    rosidl_generator_py.generate_py(arguments("rosidl_generator_py"), ["rosidl_typesupport_c"])
    for generator in ("rosidl_generator_c", *SUPPORTS, "rosidl_typesupport_c"):  # CMake's visibility headers
        words = "".join(f"#define {generator.upper()}_{kind}_{NAME}\n" for kind in ("PUBLIC", "IMPORT", "EXPORT"))
        (idl / "msg" / f"{generator}__visibility_control.h").write_text(words)


def compile_module(work: Path) -> Path:
    """Compile all sources below a folder to Python's extension module of the package; return its path."""
    import numpy

    flags = ["-O1", "-fPIC", "-w", f'-DROS_PACKAGE_NAME="{NAME}"', "-DFASTCDR_DYN_LINK"]
    headers = [work, *work.glob("rosidl_*/"), INCLUDE, sysconfig.get_path("include"), numpy.get_include()]
    flags += [f"-I{each}" for each in (*headers, *INCLUDE.glob("*/"))]
    objects = []
    for source in sorted(file for file in work.rglob("*.c*") if file.suffix in (".c", ".cpp")):
        compiler = ["gcc", "-std=gnu11"] if source.suffix == ".c" else ["g++", "-std=gnu++17"]
        objects.append(f"{source}.o")
        subprocess.run([*compiler, *flags, "-c", source, "-o", objects[-1]], check=True)
    kinds = ("rosidl_generator_c", *SUPPORTS, "rosidl_typesupport_c", "rosidl_generator_py")
    needed = [f"{each}__{kind}" for each in DEPENDENCIES for kind in kinds]
    needed += [*SUPPORTS, "rosidl_typesupport_c", "rosidl_typesupport_fastrtps_cpp"]
    needed += ["rosidl_runtime_c", "rmw", "rcutils"]
    libraries = [f"-l:lib{each}.so" for each in needed] + ["-l:libfastcdr.so.2"]
    PACKAGE.mkdir(parents=True, exist_ok=True)
    module = PACKAGE / f"{NAME}_s__rosidl_typesupport_c{sysconfig.get_config_var('EXT_SUFFIX')}"
    link = ["g++", "-shared", "-o", module, *objects, f"-L{LIBRARIES}", *libraries, f"-Wl,-rpath,{LIBRARIES}"]
    subprocess.run(link, check=True)
    return module


def install(work: Path, module: Path) -> None:
    """Put the Python modules, the type supports and the entries of ament's index where rclpy looks for them."""
    python = work / "rosidl_generator_py" / NAME
    shutil.copytree(python, PACKAGE, ignore=shutil.ignore_patterns("*.c*"), dirs_exist_ok=True)
    (PACKAGE / "__init__.py").touch()
    for support in SUPPORTS:  # rosidl_typesupport_c loads each by a library's name
        library = LIBRARIES / f"lib{NAME}__{support}.so"
        library.unlink(missing_ok=True)
        library.symlink_to(module)
    index = SHARE / "ament_index" / "resource_index"
    (index / "packages" / NAME).touch()
    (index / "rosidl_interfaces" / NAME).write_text(f"msg/{MESSAGE}.msg")


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    generate(folder)
    install(folder, compile_module(folder))
