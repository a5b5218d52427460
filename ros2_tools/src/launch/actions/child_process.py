"""A child process whose output arrives in pieces, by pipes or by pseudo-terminals."""

import asyncio
import os
import pty
import subprocess
import termios


def _terminal():
    """Return (our end, the child's end) of a pseudo-terminal that leaves line ends as they are."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.ONLCR
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs


async def start(cmd, *, cwd, env, shell, emulate_tty):
    """Start a command; return its asyncio Process, and our ends of its stdout and stderr. OSError if it cannot start.

    :param cmd: the parts of the command line, joined by spaces for the shell
    :param emulate_tty: let the child's stdout and stderr be terminals
    """
    pairs = [_terminal() if emulate_tty else os.pipe() for _ in range(2)]
    about = {"stdin": subprocess.PIPE, "stdout": pairs[0][1], "stderr": pairs[1][1], "cwd": cwd, "env": env}
    try:
        if shell:
            process = await asyncio.create_subprocess_shell(" ".join(cmd), **about)
        else:
            process = await asyncio.create_subprocess_exec(*cmd, **about)
    except BaseException:
        for ours, _ in pairs:
            os.close(ours)
        raise
    finally:
        for _, theirs in pairs:
            os.close(theirs)
    return process, [ours for ours, _ in pairs]


class Reader(asyncio.Protocol):
    """Calls a function with each piece of the child's output until its end; `ended` is a future."""

    def __init__(self, on_data):
        self.data_received = on_data
        self.ended = asyncio.get_running_loop().create_future()

    def connection_lost(self, error):
        """Note the end: an input/output error of a pseudo-terminal, where a pipe has an end of file."""
        if not self.ended.done():
            self.ended.set_result(None)

    @classmethod
    async def of(cls, output, on_data):
        """Return a reader of our end of an output, and its transport."""
        loop = asyncio.get_running_loop()
        transport, reader = await loop.connect_read_pipe(lambda: cls(on_data), os.fdopen(output, "rb", 0))
        return reader, transport
