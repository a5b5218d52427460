"""A client of the browser view that draws nothing: it speaks viser's websocket protocol as a page does."""

import threading
import time
from urllib.parse import urlsplit

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

CAMERA = {"type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 1.0}
CAMERA |= {"near": 0.1, "far": 100.0, "image_height": 760, "image_width": 1280}
CAMERA |= {"look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}
ALIVE, DRIVE, STOP = {"type": "HexapodAlive"}, "HexapodDrive", {"type": "HexapodStop"}


class ViewClient:
    """A websocket of the view, the controls that it announced by label, and the messages that came.

    beats: whether a thread reports that the page is open, as the page's script does.
    """

    def __init__(self, url, origin=None, beats=False, **options):
        parts = urlsplit(url)
        origin = f"http://{parts.netloc}" if origin is None else origin
        self.link = connect(
            f"ws://{parts.netloc}{parts.path.rstrip('/')}",
            origin=origin or None,
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
            compression=None,
            **options,
        )
        self.messages, self.frames, self.beats = [], 0, beats
        self.closed = threading.Event()
        self.send(CAMERA)
        threading.Thread(target=self._receive, daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    def _receive(self):
        try:
            for raw in self.link:
                self.messages += decoded(raw)
                self.frames += 1
        except ConnectionClosed:
            pass
        self.closed.set()

    def _beat(self):
        while not self.closed.wait(0.1):
            if self.beats:
                self.send(ALIVE)

    def send(self, message):
        """Send one message; what a closed connection does not take is no error."""
        try:
            self.link.send(message if isinstance(message, (bytes, str)) else msgspec.msgpack.encode(message))
        except ConnectionClosed:
            self.closed.set()

    def control(self, label):
        """Return the uuid of the control with this label, or None if it was not announced yet or is removed."""
        gone = {m["uuid"] for m in list(self.messages) if m["type"] == "GuiRemoveMessage"}
        found = [m for m in list(self.messages) if props_of(m).get("label") == label]
        return next((m["uuid"] for m in reversed(found) if m["uuid"] not in gone), None)

    def hold(self, forward=0, left=0, turn=0):
        """Report axes as held keys do; all zero: they are released, or x was pressed."""
        self.send({"type": DRIVE, "axes": [forward, left, turn]})

    def stop(self):
        """Ask for the emergency stop, as the page's own button and the space bar do."""
        self.send(STOP)

    def set(self, label, value=True, **more):
        """Set a control as a page does; a button's value is True."""
        self.send({"type": "GuiUpdateMessage", "uuid": self.control(label), "updates": {"value": value} | more})

    def value(self, label, name="value"):
        """Return what the server last said about a control's property, or None."""
        uuid, values = self.control(label), []
        for message in list(self.messages):
            if message.get("uuid") == uuid:
                values += [d[name] for d in (message, props_of(message), message.get("updates", {})) if name in d]
        return values[-1] if values else None

    def texts(self):
        """Return the present texts (markdown, HTML) of the page, by uuid."""
        texts = {}
        for message in list(self.messages):
            for part in (props_of(message), message.get("updates", {})):
                for name in ("_markdown", "content"):
                    if name in part:
                        texts[message["uuid"]] = part[name]
        return texts

    def shows(self, text):
        """Whether a text of the page contains this."""
        return any(text in str(shown) for shown in self.texts().values())

    def wait(self, label, timeout=30.0):
        """Wait for a control; return its uuid."""
        end = time.monotonic() + timeout
        while self.control(label) is None:
            assert time.monotonic() < end, f"no control {label!r} came"
            time.sleep(0.02)
        return self.control(label)

    def close(self):
        """Close the websocket as a closed page does."""
        self.link.close()
        self.closed.set()


def props_of(message):
    return message.get("props") or {}


def decoded(raw):
    """Messages (dicts) in a frame of viser's server."""
    size = int.from_bytes(raw[8:16], "little")
    return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(raw[16 : 16 + size]))["messages"]
