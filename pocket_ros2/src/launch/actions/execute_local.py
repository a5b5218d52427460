"""The action that runs a process on this machine."""

import asyncio
import codecs
import os
import signal

from ..conditions import evaluate_condition_expression
from ..event_handler import EventHandler
from ..event_handlers import OnProcessExit, OnShutdown
from ..events.process import (
    ProcessExited,
    ProcessStarted,
    ProcessStderr,
    ProcessStdin,
    ProcessStdout,
    ShutdownProcess,
    SignalProcess,
)
from ..logging import get_logger, get_output_loggers
from ..process_action import ProcessAction
from ..substitutions import LaunchConfiguration, TextSubstitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.type_utils import normalize_typed_substitution, perform_typed_substitution
from .child_process import ChildProcess
from .opaque_function import OpaqueFunction


class _Lines:
    """Joins pieces of bytes to lines and writes them to a logger."""

    def __init__(self, logger, formatted):
        self._logger = logger
        self._formatted = formatted
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def write(self, data, final=False):
        *lines, self._rest = (self._rest + self._decoder.decode(data, final)).split("\n")
        if final and self._rest:
            lines.append(self._rest)
            self._rest = ""
        for line in lines:
            self._logger.info(self._formatted(line.removesuffix("\r")))


class ExecuteLocal(ProcessAction):
    """Runs a process, writes its output, emits events for its start, output and end, and ends it on a shutdown."""

    def __init__(
        self,
        *,
        process_description,
        shell=False,
        sigterm_timeout=LaunchConfiguration("sigterm_timeout", default=5),  # noqa: B008  never changes
        sigkill_timeout=LaunchConfiguration("sigkill_timeout", default=5),  # noqa: B008
        emulate_tty=False,
        output="log",
        output_format="[{this.process_description.final_name}] {line}",
        cached_output=False,
        log_cmd=False,
        on_exit=None,
        respawn=False,
        respawn_delay=None,
        **kwargs,
    ):
        """Describe the process.

        :param process_description: an `Executable`
        :param sigterm_timeout: seconds from SIGINT to SIGTERM on a shutdown
        :param sigkill_timeout: seconds from SIGTERM to SIGKILL
        :param emulate_tty: connect the output of the process to a pseudo-terminal; the launch configuration
            emulate_tty goes before
        :param output: screen, log, both, own_log, full or a dict, see `launch.logging.get_output_loggers`; the
            environment variable OVERRIDE_LAUNCH_PROCESS_OUTPUT goes before
        :param cached_output: keep the output for get_stdout() and get_stderr()
        :param on_exit: entities, or a function of (event, context) that returns some
        :param respawn: start the process again when it ends, `respawn_delay` seconds later
        """
        super().__init__(**kwargs)
        self._process_description = process_description
        self._shell = shell
        self._sigterm_timeout = normalize_to_list_of_substitutions(sigterm_timeout)
        self._sigkill_timeout = normalize_to_list_of_substitutions(sigkill_timeout)
        self._emulate_tty = emulate_tty
        output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", output)
        self._output = output if isinstance(output, dict) else normalize_to_list_of_substitutions(output)
        self._output_format = output_format
        self._cached = {1: bytearray(), 2: bytearray()} if cached_output else None
        self._log_cmd = log_cmd
        self._on_exit = on_exit
        self._respawn = normalize_typed_substitution(respawn, bool)
        self._respawn_delay = respawn_delay
        self._details = None
        self._child = None
        self._executed = False
        self._completed = None  # future: no process runs any more, none will
        self._shutdown = None  # future: the process was asked to end
        self._escalations = []
        self._logger = None

    # ------------------------------------------------------------------------------------ what others may know

    @property
    def process_description(self):
        """The `Executable`."""
        return self._process_description

    @property
    def shell(self):
        """Whether the shell reads the command line."""
        return self._shell

    @property
    def emulate_tty(self):
        """Whether the output of the process is connected to a pseudo-terminal."""
        return self._emulate_tty

    @property
    def output(self):
        """Where the output goes."""
        return self._output

    @property
    def process_details(self):
        """A dict of action, name, cmd, cwd, env, and pid once the process has started; None before it is prepared."""
        return self._details

    @property
    def return_code(self):
        """The exit code, or None before the process has ended."""
        return None if self._child is None else self._child.returncode

    def get_stdout(self):
        """Return all that the process wrote to stdout; RuntimeError without cached_output."""
        return self._cached_text(1)

    def get_stderr(self):
        """Return all that the process wrote to stderr; RuntimeError without cached_output."""
        return self._cached_text(2)

    def _cached_text(self, fd):
        if self._cached is None:
            raise RuntimeError(f"cached output must be true to be able to get it, proc '{self._details}'")
        return self._cached[fd].decode(errors="replace")

    def get_sub_entities(self):
        """Return the entities visited when the process has ended."""
        return self._on_exit if isinstance(self._on_exit, list) else []

    def get_asyncio_future(self):
        """Return a future that is done when no process runs any more and none will; None before it is executed."""
        return self._completed

    # ------------------------------------------------------------------------------------ starting

    def prepare(self, context):
        """Perform the substitutions."""
        description = self._process_description
        description.prepare(context, self)
        self._details = {
            "action": self,
            "name": description.final_name,
            "cmd": description.final_cmd,
            "cwd": description.final_cwd,
            "env": description.final_env,
        }
        self._respawns = perform_typed_substitution(context, self._respawn, bool)
        sigterm_timeout, sigkill_timeout = (
            perform_substitutions(context, each) for each in (self._sigterm_timeout, self._sigkill_timeout)
        )
        # Texts, as they are shown: seconds after the first signal.
        self._escalation = (
            ("SIGINT", signal.SIGTERM, sigterm_timeout),
            ("SIGTERM", signal.SIGKILL, str(float(sigterm_timeout) + float(sigkill_timeout))),
        )
        if "emulate_tty" in context.launch_configurations:
            self._emulate_tty = evaluate_condition_expression(
                context, [TextSubstitution(text=context.launch_configurations["emulate_tty"])]
            )

    def execute(self, context):
        """Start the process, unless the launch is ending; RuntimeError when executed twice."""
        self.prepare(context)
        name = self._details["name"]
        if self._executed:
            raise RuntimeError(f"ExecuteLocal action '{name}': executed more than once: {self.describe()}")
        self._executed = True
        if context.is_shutdown:
            return
        self._logger = get_logger(name)
        output = self._output if isinstance(self._output, dict) else perform_substitutions(context, self._output)
        self._loggers = dict(zip((1, 2), get_output_loggers(name, output), strict=True))
        for handler in (
            self._targeted(ShutdownProcess, lambda context: self._end(context, send_sigint=True)),
            self._targeted(SignalProcess, lambda context: self._send(context.locals.event.signal)),
            self._targeted(ProcessStdin, self._refuse_stdin),
            OnShutdown(on_shutdown=self._on_shutdown),
            OnProcessExit(target_action=self, on_exit=self._on_exit),
        ):
            context.register_event_handler(handler)
        self._completed = asyncio.get_running_loop().create_future()
        self._shutdown = asyncio.get_running_loop().create_future()
        # Waited for even if visiting a later entity raises, so that no process outlives the launch.
        context.add_completion_future(self._completed)
        self._task = asyncio.get_running_loop().create_task(self._run(context))

    def _targeted(self, event_class, function):
        def matches(event):
            if not isinstance(event, event_class):
                return False
            return event.process_matcher(self) if hasattr(event, "process_matcher") else event.action is self

        return EventHandler(matcher=matches, entities=OpaqueFunction(function=function))

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

    async def _run_once(self, context):
        lines = {fd: _Lines(logger, self._formatted) for fd, logger in self._loggers.items()}
        about = self._details
        if self._log_cmd:
            self._logger.info(
                f"process details: cmd='{self._command_line()}', cwd='{about['cwd']}', "
                f"custom_env?={about['env'] is not None}"
            )

        def on_output(fd, event_class, data):
            if self._cached is not None:
                self._cached[fd] += data
            lines[fd].write(data)
            event = event_class(text=data, **about)
            if context.would_handle_event(event):
                context.emit_event_sync(event)

        about.setdefault("pid", None)
        self._child = await ChildProcess.start(
            about["cmd"], cwd=about["cwd"], env=about["env"], shell=self._shell, emulate_tty=self._emulate_tty
        )
        pid = about["pid"] = self._child.pid
        self._logger.info(f"process started with pid [{pid}]")
        context.emit_event_sync(ProcessStarted(**about))
        if self._shutdown.done():
            self._escalate(send_sigint=self._sends_sigint)
        await self._child.read(
            on_stdout=lambda data: on_output(1, ProcessStdout, data),
            on_stderr=lambda data: on_output(2, ProcessStderr, data),
        )
        returncode = await self._child.wait()
        for each in lines.values():
            each.write(b"", final=True)
        if returncode == 0:
            self._logger.info(f"process has finished cleanly [pid {pid}]")
        else:
            self._logger.error(f"process has died [pid {pid}, exit code {returncode}, cmd '{self._command_line()}'].")
        context.emit_event_sync(ProcessExited(returncode=returncode, **about))

    def _formatted(self, line):
        return self._output_format.format(line=line, this=self)

    def _command_line(self):
        return " ".join(part for part in self._details["cmd"] if part.strip())

    # ------------------------------------------------------------------------------------ ending

    def _on_shutdown(self, event, context):
        # A ctrl-c at a terminal has reached the process already.
        self._end(context, send_sigint=not event.due_to_sigint or context.noninteractive)

    def _end(self, context, *, send_sigint):
        if self._shutdown.done():
            return
        self._shutdown.set_result(None)
        self._sends_sigint = send_sigint
        if self._child is not None and not self._completed.done():
            self._escalate(send_sigint=send_sigint)

    def _escalate(self, *, send_sigint):
        """Ask the process to end, then to terminate, then kill it."""
        if send_sigint:
            self._send(signal.SIGINT)
        loop = asyncio.get_running_loop()
        for last, number, after in self._escalation:
            self._escalations.append(loop.call_later(float(after), self._escalate_to, last, number, after))

    def _escalate_to(self, last, number, after):
        name = self._details["name"]
        self._logger.error(
            f"process[{name}] failed to terminate '{after}' seconds after receiving '{last}', "
            f"escalating to '{number.name}'"
        )
        self._send(number)

    def _send(self, number):
        if self._child is None:
            raise RuntimeError(f"signal '{number.name}' for process[{self._details['name']}] before it has started")
        if self._child.returncode is None:
            self._logger.info(f"sending signal '{number.name}' to process[{self._details['name']}]")
            self._child.send_signal(number)

    def _refuse_stdin(self, context):
        self._logger.warning("input for the process is not passed on")
