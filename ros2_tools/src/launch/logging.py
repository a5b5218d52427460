"""Where the launch and its processes write: the screen and files below ~/.ros/log (ROS_LOG_DIR, ROS_HOME).

No folder is made before the first line is written.
"""

import datetime
import logging
import os
import socket
import sys

# Where the lines of a process go: those of either source ("both"), of stdout and of stderr.
OUTPUTS = {
    "screen": {"both": {"screen"}},
    "log": {"both": {"log"}, "stderr": {"screen"}},
    "both": {"both": {"log", "screen"}},
    "own_log": {"both": {"own_log"}, "stdout": {"own_log"}, "stderr": {"own_log"}},
    "full": {"both": {"screen", "log", "own_log"}, "stdout": {"own_log"}, "stderr": {"own_log"}},
}
FORMATS = {
    "default": "[{levelname}] [{name}]: {msg}",
    "default_with_timestamp": "{created:.7f} [{levelname}] [{name}]: {msg}",
}


def _format(variable, default):
    """Return the format that an environment variable asks for, by its name or as a format."""
    chosen = os.environ.get(variable) or default
    return FORMATS.get(chosen, chosen)


class ScreenHandler(logging.StreamHandler):
    """Writes to what sys.stdout is at the time, until its reader has gone."""

    def __init__(self):
        super().__init__(sys.stdout)
        self._reader_has_gone = False

    def emit(self, record):
        """Write a record."""
        if self._reader_has_gone:
            return
        self.stream = sys.stdout
        try:
            self.stream.write(self.format(record) + self.terminator)
            self.stream.flush()
        except BrokenPipeError:
            # As with `ros2 launch ... | head`: the processes go on, their log files too.
            self._reader_has_gone = True
            sys.stdout = open(os.devnull, "w")
        except UnicodeEncodeError:
            encoding = self.stream.encoding or "ascii"
            self.stream.write(self.format(record).encode(encoding, "replace").decode(encoding) + self.terminator)


class LaunchConfig:
    """What all loggers share: level, folder, handlers."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget all loggers and files."""
        for handler in getattr(self, "_handlers", {}).values():
            handler.close()
        self._handlers = {}
        self._loggers = {}
        self._log_dir = None
        self._level = logging.INFO

    @property
    def level(self):
        """The level below which nothing is written."""
        return self._level

    @level.setter
    def level(self, level):
        self._level = level
        for logger in self._loggers.values():
            logger.setLevel(level)

    @property
    def log_dir(self):
        """The folder of this launch's log files; made when first asked for."""
        if self._log_dir is None:
            stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
            self._log_dir = os.path.join(base_directory(), f"{stamp}-{socket.gethostname()}-{os.getpid()}")
            os.makedirs(self._log_dir, exist_ok=True)
        return self._log_dir

    def handler(self, line_format, file_name=None):
        """Return the handler that writes lines of a format to a file of this launch, or to the screen."""
        if (line_format, file_name) not in self._handlers:
            if file_name is None:
                handler = ScreenHandler()
            else:
                path = os.path.join(self.log_dir, file_name)
                handler = logging.FileHandler(path, encoding="utf-8", errors="replace")
            handler.setFormatter(logging.Formatter(line_format, style="{"))
            self._handlers[line_format, file_name] = handler
        return self._handlers[line_format, file_name]

    def logger(self, name, handlers):
        """Return the logger of this name, with these handlers if it is new; handlers is a function."""
        if name not in self._loggers:
            logger = logging.Logger(name, self._level)
            logger.propagate = False
            for handler in handlers():
                logger.addHandler(handler)
            self._loggers[name] = logger
        return self._loggers[name]


def base_directory():
    """Return the folder below which each launch makes its own."""
    directory = os.environ.get("ROS_LOG_DIR")
    if not directory:
        directory = os.path.join(os.environ.get("ROS_HOME") or os.path.join("~", ".ros"), "log")
    return os.path.normpath(os.path.expanduser(directory))


launch_config = LaunchConfig()


def get_logger(name=None):
    """Return a logger that writes to the screen and to launch.log."""
    return launch_config.logger(
        name or "root",
        lambda: [
            launch_config.handler(_format("OVERRIDE_LAUNCH_SCREEN_FORMAT", "default")),
            launch_config.handler(_format("OVERRIDE_LAUNCH_LOG_FORMAT", "default_with_timestamp"), "launch.log"),
        ],
    )


def get_output_loggers(process_name, output):
    """Return the loggers for a process's stdout and stderr; `output` is screen, log, both, own_log or full."""
    if output not in OUTPUTS:
        raise ValueError(f"{output} is not a valid standard output config, it is one of {', '.join(OUTPUTS)}")
    both = OUTPUTS[output]["both"]

    def handlers(source):
        own = OUTPUTS[output].get(source, set())
        if "screen" in both | own:
            yield launch_config.handler("{msg}")
        if "log" in both | own:
            yield launch_config.handler("{created:.7f} {msg}", "launch.log")
        if "own_log" in own:
            yield launch_config.handler("{msg}", f"{process_name}-{source}.log")
        if "own_log" in both:
            yield launch_config.handler("{msg}", f"{process_name}.log")

    return tuple(
        launch_config.logger(f"{process_name}-{source}", lambda source=source: handlers(source))
        for source in ("stdout", "stderr")
    )


reset = launch_config.reset
