"""The action that runs a process on this machine."""

import asyncio
import codecs
import itertools
import os
import re
import shlex
import signal

from ..conditions import evaluate_condition_expression
from ..entities import Action
from ..event_handlers import OnProcessExit, OnShutdown
from ..events.process import ProcessExited, ProcessIO, ProcessStarted
from ..logging import get_logger, get_output_loggers
from ..substitution import TextSubstitution
from ..substitutions import LaunchConfiguration
from ..utilities import (
    described,
    normalize_to_list_of_substitutions,
    normalize_typed_substitution,
    perform_substitutions,
    perform_typed_substitution,
)
from .child_process import Reader, start

_numbers = itertools.count(1)
# After the child has ended, how long to wait for output still held by processes of its own, in seconds.
LAST_WORDS = 0.5


class _Lines:
    """Joins pieces of bytes to lines and writes them to a logger."""

    def __init__(self, logger, formatted):
        self._logger, self._formatted = logger, formatted
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def write(self, data, final=False):
        *lines, self._rest = (self._rest + self._decoder.decode(data, final)).split("\n")
        if final and self._rest:
            lines.append(self._rest)
            self._rest = ""
        for line in lines:
            self._logger.info(self._formatted(line.removesuffix("\r")))


def _normalized(value):
    return None if value is None else normalize_to_list_of_substitutions(value)


def _performed(context, substitutions):
    return None if substitutions is None else perform_substitutions(context, substitutions)


class ExecuteProcess(Action):
    """Runs a command line, writes its output, emits events for its start, output and end, ends it on a shutdown."""

    def __init__(
        self,
        *,
        cmd,
        prefix=None,
        name=None,
        cwd=None,
        env=None,
        additional_env=None,
        shell=False,
        sigterm_timeout=LaunchConfiguration("sigterm_timeout", default=5),  # noqa: B008  never changes
        sigkill_timeout=LaunchConfiguration("sigkill_timeout", default=5),  # noqa: B008
        emulate_tty=False,
        output="log",
        output_format="[{this.name}] {line}",
        on_exit=None,
        respawn=False,
        respawn_delay=None,
        **kwargs,
    ):
        """Describe the process.

        :param cmd: the program and its arguments, each a text, a substitution or a list of them
        :param prefix: a command line to put before it; by default the launch configuration launch-prefix, for the
            programs whose name matches the regular expression of launch-prefix-filter
        :param name: by default the program's file name; a number is added to it
        :param env: the whole environment; by default that of the launch
        :param additional_env: what to set in the environment
        :param sigterm_timeout: seconds from SIGINT to SIGTERM on a shutdown
        :param sigkill_timeout: seconds from SIGTERM to SIGKILL
        :param emulate_tty: connect the output of the process to a pseudo-terminal; the launch configuration
            emulate_tty goes before
        :param output: screen, log, both, own_log or full; the environment variable OVERRIDE_LAUNCH_PROCESS_OUTPUT
            goes before
        :param output_format: how a line of output is shown; `line` is the line, `this` this action
        :param on_exit: entities, or a function of (event, context) that returns some
        :param respawn: start the process again when it ends, `respawn_delay` seconds later
        """
        super().__init__(**kwargs)
        self._parts = [normalize_to_list_of_substitutions(part) for part in cmd]
        self._prefix = _normalized(prefix)
        self._given_name = _normalized(name)
        self._cwd = _normalized(cwd)
        self._env, self._additional_env = env, additional_env or {}
        self._shell = shell
        self._sigterm_timeout = normalize_to_list_of_substitutions(sigterm_timeout)
        self._sigkill_timeout = normalize_to_list_of_substitutions(sigkill_timeout)
        self._emulate_tty = emulate_tty
        self._output = normalize_to_list_of_substitutions(os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", output))
        self._output_format = output_format
        self._on_exit = on_exit
        self._respawn = normalize_typed_substitution(respawn, bool)
        self._respawn_delay = respawn_delay
        self._details = None  # of the process: action, name, cmd, cwd, env, and pid once it has started
        self._child = None
        self._executed = False
        self._completed = None  # future: no process runs any more, none will
        self._shutdown = None  # future: the process was asked to end
        self._escalations = []
        self._logger = None

    @property
    def name(self):
        """The name with its number, once the action is executed."""
        return self._details["name"]

    def describe(self):
        """Return a description for people."""
        return f"{type(self).__name__}(cmd=[{', '.join(described(part) for part in self._parts)}])"

    def get_sub_entities(self):
        """Return the entities visited when the process has ended."""
        return self._on_exit if isinstance(self._on_exit, list) else []

    def get_asyncio_future(self):
        """Return a future that is done when no process runs any more and none will; None before it is executed."""
        return self._completed

    # ------------------------------------------------------------------------------------ starting

    def _prepare(self, context):
        """Perform the substitutions."""
        cmd = [perform_substitutions(context, part) for part in self._parts]
        if self._prefix is not None:
            cmd = shlex.split(perform_substitutions(context, self._prefix)) + cmd
        elif re.match(context.launch_configurations.get("launch-prefix-filter", ""), os.path.basename(cmd[0])):
            cmd = shlex.split(context.launch_configurations.get("launch-prefix", "")) + cmd
        # The default name is that of what runs: with a prefix, the prefix's.
        name = os.path.basename(cmd[0]) if self._given_name is None else _performed(context, self._given_name)
        environment = dict(context.environment) if self._env is None else self._variables(context, self._env)
        self._details = {
            "action": self,
            "name": f"{name}-{next(_numbers)}",
            "cmd": cmd,
            "cwd": _performed(context, self._cwd),
            "env": environment | self._variables(context, self._additional_env),
        }
        self._respawns = perform_typed_substitution(context, self._respawn, bool)
        sigterm_timeout = perform_substitutions(context, self._sigterm_timeout)
        sigkill_timeout = perform_substitutions(context, self._sigkill_timeout)
        # Texts, as they are shown: seconds after the first signal.
        self._escalation = (
            ("SIGINT", signal.SIGTERM, sigterm_timeout),
            ("SIGTERM", signal.SIGKILL, str(float(sigterm_timeout) + float(sigkill_timeout))),
        )
        if "emulate_tty" in context.launch_configurations:
            self._emulate_tty = evaluate_condition_expression(
                context, [TextSubstitution(text=context.launch_configurations["emulate_tty"])]
            )

    @staticmethod
    def _variables(context, mapping):
        return {
            _performed(context, _normalized(name)): _performed(context, _normalized(value))
            for name, value in mapping.items()
        }

    def execute(self, context):
        """Start the process, unless the launch is ending; RuntimeError when executed twice."""
        self._prepare(context)
        if self._executed:
            raise RuntimeError(f"action '{self.name}': executed more than once: {self.describe()}")
        self._executed = True
        if context.is_shutdown:
            return
        self._logger = get_logger(self.name)
        loggers = get_output_loggers(self.name, perform_substitutions(context, self._output))
        self._loggers = dict(zip((1, 2), loggers, strict=True))
        context.register_event_handler(OnShutdown(on_shutdown=self._on_shutdown))
        context.register_event_handler(OnProcessExit(target_action=self, on_exit=self._on_exit))
        self._completed = asyncio.get_running_loop().create_future()
        self._shutdown = asyncio.get_running_loop().create_future()
        # Waited for even if visiting a later entity raises, so that no process outlives the launch.
        context.add_completion_future(self._completed)
        self._task = asyncio.get_running_loop().create_task(self._run(context))

    async def _run(self, context):
        try:
            while not self._shutdown.done():
                await self._run_once(context)
                if not self._respawns or context.is_shutdown:
                    break
                if self._respawn_delay:
                    await asyncio.wait([self._shutdown], timeout=self._respawn_delay)
        except OSError as error:
            self._logger.error(f"cannot start the process: {error}, cmd '{self._command_line()}'")
        except Exception as error:  # any: the launch is to end with it, not to wait for ever
            self._completed.set_exception(error)
        finally:
            for escalation in self._escalations:
                escalation.cancel()
            if not self._completed.done():
                self._completed.set_result(None)

    def _formatted(self, line):
        return self._output_format.format(line=line, this=self)

    async def _run_once(self, context):
        lines = {fd: _Lines(logger, self._formatted) for fd, logger in self._loggers.items()}
        about = self._details

        def on_output(fd):
            def receive(data):
                lines[fd].write(data)
                event = ProcessIO(text=data, fd=fd, **about)
                if context.would_handle_event(event):
                    context.emit_event_sync(event)

            return receive

        about.setdefault("pid", None)
        self._child, outputs = await start(
            about["cmd"], cwd=about["cwd"], env=about["env"], shell=self._shell, emulate_tty=self._emulate_tty
        )
        pid = about["pid"] = self._child.pid
        self._logger.info(f"process started with pid [{pid}]")
        context.emit_event_sync(ProcessStarted(**about))
        if self._shutdown.done():
            self._escalate(send_sigint=self._sends_sigint)
        readers = [await Reader.of(output, on_output(fd)) for fd, output in enumerate(outputs, start=1)]
        returncode = await self._child.wait()
        await asyncio.wait([reader.ended for reader, _ in readers], timeout=LAST_WORDS)
        for _, transport in readers:
            transport.close()
        for each in lines.values():
            each.write(b"", final=True)
        if returncode == 0:
            self._logger.info(f"process has finished cleanly [pid {pid}]")
        else:
            self._logger.error(f"process has died [pid {pid}, exit code {returncode}, cmd '{self._command_line()}'].")
        context.emit_event_sync(ProcessExited(returncode=returncode, **about))

    def _command_line(self):
        return " ".join(part for part in self._details["cmd"] if part.strip())

    # ------------------------------------------------------------------------------------ ending

    def _on_shutdown(self, event, context):
        """Ask the process to end, then to terminate, then kill it."""
        if self._shutdown.done():
            return
        self._shutdown.set_result(None)
        # A ctrl-c at a terminal has reached the process already.
        self._sends_sigint = not event.due_to_sigint or context.noninteractive
        if self._child is not None and not self._completed.done():
            self._escalate(send_sigint=self._sends_sigint)

    def _escalate(self, *, send_sigint):
        if send_sigint:
            self._send(signal.SIGINT)
        loop = asyncio.get_running_loop()
        for last, number, after in self._escalation:
            self._escalations.append(loop.call_later(float(after), self._escalate_to, last, number, after))

    def _escalate_to(self, last, number, after):
        self._logger.error(
            f"process[{self.name}] failed to terminate '{after}' seconds after receiving '{last}', "
            f"escalating to '{number.name}'"
        )
        self._send(number)

    def _send(self, number):
        if self._child.returncode is None:
            self._logger.info(f"sending signal '{number.name}' to process[{self.name}]")
            self._child.send_signal(number)
