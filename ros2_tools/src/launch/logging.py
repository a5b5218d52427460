"""Where the launch and its processes write: the screen and files below ~/.ros/log (ROS_LOG_DIR, ROS_HOME)."""

import datetime
import logging
import os
import socket
import sys
from functools import cached_property

# Where stdout and stderr of a process go: screen, launch.log, a file of its own, and one of both.
OUTPUTS = {
    "screen": ("screen", "screen"),
    "log": ("log", "log screen"),
    "both": ("screen log", "screen log"),
    "own_log": ("own common", "own common"),
    "full": ("screen log own common", "screen log own common"),
}


class ScreenHandler(logging.StreamHandler):
    """Writes to what sys.stdout is at the time, until its reader has gone."""

    reader_has_gone = False

    def emit(self, record):
        """Write a record."""
        if self.reader_has_gone:
            return
        self.stream = sys.stdout
        try:
            self.stream.write(self.format(record) + self.terminator)
            self.stream.flush()
        except BrokenPipeError:
            # As with `ros2 launch ... | head`: the processes go on, their log files too.
            self.reader_has_gone = True
            sys.stdout = open(os.devnull, "w")
        except UnicodeEncodeError:
            encoding = self.stream.encoding or "ascii"
            self.stream.write(self.format(record).encode(encoding, "replace").decode(encoding) + self.terminator)


class LaunchConfig:
    """What all loggers share: level, folder, handlers; the loggers are a tree of their own."""

    def __init__(self):
        self._handlers = {}
        self.root = logging.RootLogger(logging.INFO)  # its level is that below which nothing is written
        self._loggers = logging.Manager(self.root)

    def reset(self):
        """Forget all loggers and files."""
        for handler in self._handlers.values():
            handler.close()
        self.__dict__.clear()
        self.__init__()

    @cached_property
    def log_dir(self):
        """The folder of this launch's log files; made when first asked for."""
        home = os.environ.get("ROS_HOME") or os.path.join("~", ".ros")
        base = os.path.expanduser(os.environ.get("ROS_LOG_DIR") or os.path.join(home, "log"))
        stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H-%M-%S-%f")
        folder = os.path.join(os.path.normpath(base), f"{stamp}-{socket.gethostname()}-{os.getpid()}")
        os.makedirs(folder, exist_ok=True)
        return folder

    def logger(self, name, outputs):
        """Return the logger of this name; a new one writes to the outputs, {file, None for the screen: format}."""
        logger = self._loggers.getLogger(name)
        if not logger.handlers:
            logger.propagate = False
            for output in outputs.items():
                if output not in self._handlers:
                    self._handlers[output] = self._handler(*output)
                logger.addHandler(self._handlers[output])
        return logger

    def _handler(self, file_name, line_format):
        handler = ScreenHandler()
        if file_name is not None:
            path = os.path.join(self.log_dir, file_name)
            handler = logging.FileHandler(path, encoding="utf-8", errors="replace")
        handler.setFormatter(logging.Formatter(line_format, style="{"))
        return handler


launch_config = LaunchConfig()
reset = launch_config.reset


def get_logger(name=None):
    """Return a logger that writes to the screen and to launch.log."""
    line = "[{levelname}] [{name}]: {msg}"
    return launch_config.logger(name or "root", {None: line, "launch.log": "{created:.7f} " + line})


def get_output_loggers(process_name, output):
    """Return the loggers for a process's stdout and stderr; `output` is screen, log, both, own_log or full."""
    if output not in OUTPUTS:
        raise ValueError(f"{output} is not a valid standard output config, it is one of {', '.join(OUTPUTS)}")

    def logger(source, places):
        files = {
            "screen": (None, "{msg}"),
            "log": ("launch.log", "{created:.7f} {msg}"),
            "own": (f"{process_name}-{source}.log", "{msg}"),
            "common": (f"{process_name}.log", "{msg}"),
        }
        return launch_config.logger(f"{process_name}-{source}", dict(files[place] for place in places.split()))

    return [logger(source, places) for source, places in zip(("stdout", "stderr"), OUTPUTS[output], strict=True)]
