"""Programs that tests run to their end, and files of Python in no package that they load."""

import importlib.util
import os
import subprocess
import sys


def run(*command, variables=None, **options):
    """Run a program; its output is text, and what its exit code means the test says. variables: of the environment,
    beside those that there are.
    """
    given = {"timeout": 60, "check": False, "env": os.environ | (variables or {})} | options
    return subprocess.run(command, capture_output=True, text=True, **given)


def python(*words, **options):
    """Run the Python that runs the tests."""
    return run(sys.executable, *words, **options)


def quick_compiler(directory):
    """A C compiler that does not optimise, whatever it is told: a third of the time, the same values."""
    compiler = directory / "cc"
    compiler.write_text('#!/bin/sh\nexec gcc "$@" -O0\n')
    compiler.chmod(0o755)
    return str(compiler)


def module_of(path):
    """The module of a Python file, which it runs."""
    spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
