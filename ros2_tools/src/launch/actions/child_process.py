"""A child process whose output arrives in pieces, by pipes or by pseudo-terminals."""

import asyncio
import os
import pty
import subprocess
import termios

# After the child has ended, how long to wait for output still held by processes of its own, in seconds.
LAST_WORDS = 0.5


class _Reader(asyncio.Protocol):
    """Forwards the output of the child until its end."""

    def __init__(self, on_data):
        self._on_data = on_data
        self.ended = asyncio.get_running_loop().create_future()

    def data_received(self, data):
        self._on_data(data)

    def connection_lost(self, error):
        # A pseudo-terminal ends with an input/output error where a pipe ends with an end of file.
        if not self.ended.done():
            self.ended.set_result(None)


def _terminal():
    """Return (our end, the child's end) of a pseudo-terminal that leaves line ends as they are."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.ONLCR
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs


class ChildProcess:
    """A running child: `start` makes one, `read` begins to pass its output on."""

    def __init__(self, process, outputs):
        self._process = process
        self._outputs = outputs
        self._readers = []
        self._transports = []
        self.pid = process.pid

    @classmethod
    async def start(cls, cmd, *, cwd, env, shell, emulate_tty):
        """Start a command; OSError if it cannot be started.

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
        return cls(process, [ours for ours, _ in pairs])

    async def read(self, *, on_stdout, on_stderr):
        """Call the functions with each piece of bytes from now on."""
        for ours, on_data in zip(self._outputs, (on_stdout, on_stderr), strict=True):
            transport, reader = await asyncio.get_running_loop().connect_read_pipe(
                lambda on_data=on_data: _Reader(on_data), os.fdopen(ours, "rb", 0)
            )
            self._transports.append(transport)
            self._readers.append(reader)

    @property
    def returncode(self):
        """The exit code, negative for a signal, or None while the child runs."""
        return self._process.returncode

    def send_signal(self, signal):
        """Send a signal; without effect on a child that has ended."""
        if self.returncode is None:
            self._process.send_signal(signal)

    async def wait(self):
        """Return the exit code, after the last output has been passed on."""
        returncode = await self._process.wait()
        await asyncio.wait([reader.ended for reader in self._readers], timeout=LAST_WORDS)
        for transport in self._transports:
            transport.close()
        return returncode
