"""What the node tests read of a process is all that it wrote, in its order."""

import sys

import pytest
from support.ros_session import Process

pytestmark = pytest.mark.waiting
COUNT = 20000


def test_output_that_is_read_while_it_is_written_is_complete():
    process = Process(sys.executable, "-u", "-c", f"for k in range({COUNT}): print(k)")
    try:
        while process.running():
            output = process.output
            assert not output or output.startswith("0"), output[:99]
        assert process.output.split() == [str(k) for k in range(COUNT)]
    finally:
        process.end()
