"""The action that runs a process on this machine."""

import asyncio
import codecs
import itertools
import os
import pty
import re
import shlex
import signal
import subprocess
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

from .conditions import evaluate_condition_expression
from .entities import Action, Text, action
from .event_handlers import OnProcessExit, OnShutdown
from .events.process import ProcessExited, ProcessIO, ProcessStarted
from .logging import get_logger, get_output_loggers
from .substitutions import LaunchConfiguration, perform_substitutions
from .utilities import as_entities, perform_typed_substitution

_numbers = itertools.count(1)
# After the child has ended, how long to wait for output still held by processes of its own, in seconds.
LAST_WORDS = 0.5


def _terminal():
    """Return (our end, the child's end) of a pseudo-terminal that leaves line ends as they are."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.ONLCR
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs


class _Output:
    """Passes each piece of a child's output on, and the lines that it ends, until `ended`, a future, is done."""

    def __init__(self, end, receive):
        """`end`: our end of a pipe or a pseudo-terminal, which `finish` closes; `receive`: takes bytes and lines."""
        self._end, self._receive = end, receive
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._loop = asyncio.get_running_loop()
        self.ended = self._loop.create_future()
        self._loop.add_reader(end, self._read)

    def _read(self):
        data = b""
        with suppress(OSError):  # the end of a pseudo-terminal, where a pipe has an end of file
            data = os.read(self._end, 65536)
        if data:
            *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
            self._receive(data, lines)
        elif not self.ended.done():
            self._loop.remove_reader(self._end)
            self.ended.set_result(None)

    def finish(self):
        """Pass on the last line, even without its end, and close."""
        self._rest += self._decoder.decode(b"", final=True)
        self._receive(b"", [self._rest] if self._rest else [])
        self._loop.remove_reader(self._end)
        os.close(self._end)


@action
class ExecuteProcess(Action):
    """Runs a command line, writes its output, emits events for its start, output and end, ends it on a shutdown.

    :param cmd: the program and its arguments, each a text, a substitution or a list of them
    :param prefix: a command line to put before it; by default the launch configuration launch-prefix, for the
        programs whose name matches the regular expression of launch-prefix-filter
    :param name: by default the program's file name; a number is added to it when the process starts
    :param env: the whole environment; by default that of the launch
    :param additional_env: what to set in the environment
    :param sigterm_timeout: seconds from SIGINT to SIGTERM on a shutdown
    :param sigkill_timeout: seconds from SIGTERM to SIGKILL
    :param emulate_tty: let its output be a pseudo-terminal; the launch configuration emulate_tty goes before
    :param output: screen, log, both, own_log or full; the variable OVERRIDE_LAUNCH_PROCESS_OUTPUT goes before
    :param output_format: how a line of output is shown; `line` is the line, `this` this action
    :param on_exit: entities, or a function of (event, context) that returns some
    :param respawn: start the process again when it ends, `respawn_delay` seconds later
    """

    _: KW_ONLY
    cmd: Sequence[Text]
    prefix: Text | None = None
    name: Text | None = None
    cwd: Text | None = None
    env: dict[Text, Text] | None = None
    additional_env: dict[Text, Text] | None = None
    shell: bool = False
    sigterm_timeout: Text = LaunchConfiguration("sigterm_timeout", default=5)
    sigkill_timeout: Text = LaunchConfiguration("sigkill_timeout", default=5)
    emulate_tty: bool = False
    output: Text = "log"
    output_format: str = "[{this.name}] {line}"
    on_exit: Action | Sequence[Action] | Callable | None = None
    respawn: bool | Text = False
    respawn_delay: float | None = None

    def __post_init__(self):
        self.cmd = list(self.cmd)
        self.output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", self.output)
        self._child = self._ending = None  # asyncio's process, the task that ends it
        self._completed: asyncio.Future[None] | None = None  # no process runs any more, none will
        self._shutdown: asyncio.Future[None] | None = None  # the process was asked to end

    def get_sub_entities(self):
        """Return the entities visited when the process has ended."""
        return [] if callable(self.on_exit) else as_entities(self.on_exit)

    # ------------------------------------------------------------------------------------ starting

    def _prepare(self, context):
        """Perform the substitutions; set the name, and `_details`, which the events of the process have in common."""

        def variables(mapping):
            return {
                perform_substitutions(context, name): perform_substitutions(context, value)
                for name, value in (mapping or {}).items()
            }

        known = context.launch_configurations
        cmd = [perform_substitutions(context, part) for part in self.cmd]
        if self.prefix is not None:
            cmd = shlex.split(perform_substitutions(context, self.prefix)) + cmd
        elif re.match(known.get("launch-prefix-filter", ""), os.path.basename(cmd[0])):
            cmd = shlex.split(known.get("launch-prefix", "")) + cmd
        # The default name is that of what runs: with a prefix, the prefix's.
        name = os.path.basename(cmd[0]) if self.name is None else perform_substitutions(context, self.name)
        self.name = f"{name}-{next(_numbers)}"
        environment = dict(context.environment) if self.env is None else variables(self.env)
        self._details: dict[str, Any] = {
            "action": self,
            "process_name": self.name,
            "cmd": cmd,
            "cwd": None if self.cwd is None else perform_substitutions(context, self.cwd),
            "env": environment | variables(self.additional_env),
        }
        self._command_line = " ".join(part for part in cmd if part.strip())
        self._respawns = perform_typed_substitution(context, self.respawn, bool)
        self._timeouts = [perform_substitutions(context, each) for each in (self.sigterm_timeout, self.sigkill_timeout)]
        if "emulate_tty" in known:
            self.emulate_tty = evaluate_condition_expression(context, known["emulate_tty"])

    def execute(self, context):
        """Start the process, unless the launch is ending; RuntimeError when executed twice."""
        if self._completed is not None:
            raise RuntimeError(f"action '{self.name}': executed more than once: {self.describe()}")
        self._prepare(context)
        loop = asyncio.get_running_loop()
        self._completed, self._shutdown = loop.create_future(), loop.create_future()
        if context.is_shutdown:
            self._completed.set_result(None)
            return
        self._logger = get_logger(self.name)
        self._loggers = get_output_loggers(self.name, perform_substitutions(context, self.output))
        context.register_event_handler(OnShutdown(on_shutdown=self._on_shutdown))
        context.register_event_handler(OnProcessExit(target_action=self, on_exit=self.on_exit))
        # Waited for even if visiting a later entity raises, so that no process outlives the launch.
        context.add_completion_future(self._completed)
        self._task = loop.create_task(self._run(context))

    async def _run(self, context):
        try:
            while not self._shutdown.done():
                await self._run_once(context)
                if not self._respawns or context.is_shutdown:
                    break
                if self.respawn_delay:
                    await asyncio.wait([self._shutdown], timeout=self.respawn_delay)
        except OSError as error:
            self._logger.error(f"cannot start the process: {error}, cmd '{self._command_line}'")
        except Exception as error:  # any: the launch is to end with it, not to wait for ever
            self._completed.set_exception(error)
        finally:
            if self._ending is not None:
                self._ending.cancel()
            if not self._completed.done():
                self._completed.set_result(None)

    async def _start(self):
        """Start the child; return our ends of its stdout and stderr. OSError if it cannot start."""
        (our_out, out), (our_err, err) = (_terminal() if self.emulate_tty else os.pipe() for _ in range(2))
        cmd, cwd, env = (self._details[name] for name in ("cmd", "cwd", "env"))
        about = {"stdin": subprocess.PIPE, "stdout": out, "stderr": err, "cwd": cwd, "env": env}
        try:
            if self.shell:
                self._child = await asyncio.create_subprocess_shell(" ".join(cmd), **about)
            else:
                self._child = await asyncio.create_subprocess_exec(*cmd, **about)
        except BaseException:
            os.close(our_out)
            os.close(our_err)
            raise
        finally:
            os.close(out)
            os.close(err)
        return our_out, our_err

    async def _run_once(self, context):
        ends = await self._start()
        pid = self._child.pid
        about = {**self._details, "pid": pid}
        self._logger.info(f"process started with pid [{pid}]")
        context.emit_event_sync(ProcessStarted(**about))
        if self._shutdown.done():
            self._ending = asyncio.ensure_future(self._end())

        def receive(fd, data, lines):
            event = ProcessIO(text=data, fd=fd, **about)
            if data and any(handler.matches(event) for handler in context.event_handlers):
                context.emit_event_sync(event)
            for line in lines:
                line = line.removesuffix("\r")
                self._loggers[fd - 1].info(self.output_format.format(line=line, this=self))

        outputs = [_Output(end, partial(receive, fd)) for fd, end in enumerate(ends, start=1)]
        returncode = await self._child.wait()
        await asyncio.wait([each.ended for each in outputs], timeout=LAST_WORDS)
        for each in outputs:
            each.finish()
        if returncode == 0:
            self._logger.info(f"process has finished cleanly [pid {pid}]")
        else:
            self._logger.error(f"process has died [pid {pid}, exit code {returncode}, cmd '{self._command_line}'].")
        context.emit_event_sync(ProcessExited(returncode=returncode, **about))

    # ------------------------------------------------------------------------------------ ending

    def _on_shutdown(self, event, context):
        """Ask the process to end."""
        if self._shutdown.done():
            return
        # A ctrl-c at a terminal has reached the process already.
        self._shutdown.set_result(not event.due_to_sigint or context.noninteractive)
        if self._child is not None and not self._completed.done():
            self._ending = asyncio.ensure_future(self._end())

    async def _end(self):
        """Ask the process to end, then to terminate, then kill it; seconds are counted from the first signal."""
        if self._shutdown.result():
            self._send(signal.SIGINT)
        sigterm, sigkill = self._timeouts
        for last, number, wait, after in (
            ("SIGINT", signal.SIGTERM, sigterm, sigterm),
            ("SIGTERM", signal.SIGKILL, sigkill, str(float(sigterm) + float(sigkill))),
        ):
            await asyncio.sleep(float(wait))
            self._logger.error(
                f"process[{self.name}] failed to terminate '{after}' seconds after receiving '{last}', "
                f"escalating to '{number.name}'"
            )
            self._send(number)

    def _send(self, number):
        if self._child.returncode is None:
            self._logger.info(f"sending signal '{number.name}' to process[{self.name}]")
            self._child.send_signal(number)
