"""Programs that tests run to their end."""

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
