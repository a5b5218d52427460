"""Where the launch and its processes write: the screen and files below ~/.ros/log (ROS_LOG_DIR, ROS_HOME).

No folder is made before the first line is written.
"""

import datetime
import logging
import os
import socket
import sys

SOURCES = ("stdout", "stderr", "both")
DESTINATIONS = ("screen", "log", "own_log")
ALIASES = {
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
    """What all loggers share: level, folder, formats."""

    def __init__(self):
        self.reset()

    def reset(self):
        """Forget all loggers and files."""
        for handler in getattr(self, "_files", {}).values():
            handler.close()
        self._files = {}
        self._loggers = {}
        self._log_dir = None
        self._level = logging.INFO
        self._screen = {}
        self.set_screen_format(os.environ.get("OVERRIDE_LAUNCH_SCREEN_FORMAT") or "default")
        self.set_log_format(os.environ.get("OVERRIDE_LAUNCH_LOG_FORMAT") or "default")

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

    @log_dir.setter
    def log_dir(self, log_dir):
        if log_dir is not None and not os.path.isdir(log_dir):
            raise ValueError(f"{log_dir} is not a directory")
        self._log_dir = log_dir

    def set_screen_format(self, screen_format, *, screen_style="{"):
        """Set the format of this launch's own lines on the screen: default, default_with_timestamp, or a format."""
        self._screen_formatter = logging.Formatter(FORMATS.get(screen_format, screen_format), style=screen_style)
        if "launch" in self._screen:
            self._screen["launch"].setFormatter(self._screen_formatter)

    def set_log_format(self, log_format, *, log_style="{"):
        """Set the format of this launch's own lines in launch.log."""
        if log_format == "default":
            log_format = FORMATS["default_with_timestamp"]
        self._file_formatter = logging.Formatter(log_format, style=log_style)

    def get_log_file_path(self, file_name="launch.log"):
        """Return the path of a log file of this launch."""
        return os.path.join(self.log_dir, file_name)

    def screen_handler(self, kind):
        """Return the handler for the launch's own lines ('launch') or for those of processes ('process')."""
        if kind not in self._screen:
            self._screen[kind] = ScreenHandler()
            self._screen[kind].setFormatter(
                self._screen_formatter if kind == "launch" else logging.Formatter("{msg}", style="{")
            )
        return self._screen[kind]

    def file_handler(self, file_name, log_format=None):
        """Return the handler for a file and a format, by default that of the launch's own lines."""
        if (file_name, log_format) not in self._files:
            handler = logging.FileHandler(self.get_log_file_path(file_name), encoding="utf-8", errors="replace")
            handler.setFormatter(
                self._file_formatter if log_format is None else logging.Formatter(log_format, style="{")
            )
            self._files[file_name, log_format] = handler
        return self._files[file_name, log_format]

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
        name or "root", lambda: [launch_config.screen_handler("launch"), launch_config.file_handler("launch.log")]
    )


def _normalized_output(output):
    if isinstance(output, str):
        if output not in ALIASES:
            raise ValueError(f"{output} is not a valid standard output config, it is one of {', '.join(ALIASES)}")
        return {source: ALIASES[output].get(source, set()) for source in SOURCES}
    if not isinstance(output, dict):
        raise ValueError(f"{output} is not a valid output configuration")
    normalized = {source: set() for source in SOURCES}
    for source, destinations in output.items():
        if source not in SOURCES:
            raise ValueError(f"{source} is not a valid output source, it is one of {', '.join(SOURCES)}")
        destinations = {destinations} if isinstance(destinations, str) else set(destinations)
        for destination in destinations - set(DESTINATIONS):
            raise ValueError(f"{destination} is not a valid output destination, it is one of {', '.join(DESTINATIONS)}")
        normalized[source] = destinations
    return normalized


def get_output_loggers(process_name, output_config):
    """Return the loggers for a process's stdout and stderr.

    :param output_config: screen, log, both, own_log or full, or {stdout, stderr or both: some of screen, log, own_log}
    """
    output = _normalized_output(output_config)

    def handlers(source):
        if "screen" in output["both"] | output[source]:
            yield launch_config.screen_handler("process")
        if "log" in output["both"] | output[source]:
            yield launch_config.file_handler("launch.log", "{created:.7f} {msg}")
        if "own_log" in output[source]:
            yield launch_config.file_handler(f"{process_name}-{source}.log", "{msg}")
        if "own_log" in output["both"]:
            yield launch_config.file_handler(f"{process_name}.log", "{msg}")

    return tuple(
        launch_config.logger(f"{process_name}-{source}", lambda source=source: handlers(source))
        for source in ("stdout", "stderr")
    )


def log_launch_config(*, logger):
    """Tell where the log files are and what level is written."""
    logger.info(f"All log files can be found below {launch_config.log_dir}")
    logger.info(f"Default logging verbosity is set to {logging.getLevelName(launch_config.level)}")


def reset():
    """Forget all loggers and files."""
    launch_config.reset()
