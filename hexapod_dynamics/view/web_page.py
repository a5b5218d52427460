"""The web page: a viser server behind `Access` and `MessageFilter`. All that depends on viser's internals is here.

viser itself accepts every origin, lets every page change and remove each widget, and opens a public tunnel to the page
when one asks. It has no option against that. `WebPage` therefore replaces, while viser starts its server, the call of
`websockets.asyncio.server.serve`: requests are checked before viser sees them, and connections pass only those
messages to viser that the filter allows. What the server sends is not changed and costs no additional time.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import html
import http
import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from string import Template
from types import ModuleType
from typing import TYPE_CHECKING

from hexapod_dynamics.errors import HexapodError, MissingPackageError
from hexapod_dynamics.view.access import ANY_ADDRESS, Access
from hexapod_dynamics.view.client_messages import ALIVE, DRIVE, SLOW, STOP, Control, MessageFilter, Range, read_axes

if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.datastructures import Headers
    from websockets.http11 import Request, Response

Axes = tuple[float, float, float]
VERSIONS = ("1.1.0", "1.1.1")  # of viser, whose internals this module was read and tested against
INSTALL = 'pip install "viser>=1.1,<1.1.2"'
ALLOWED = ("ViewerCameraMessage", "GuiUpdateMessage", "SceneNodeClickMessage")
REFUSED = b"403: this is not the address of the robot's page; open the one that the view printed when it started\n"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",  # the address contains the token
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TITLE_ID = "hexapod-title"  # of the element whose text becomes the page's title
_NAMES = {"alive": ALIVE, "drive": DRIVE, "stop": STOP, "slow": SLOW, "title": TITLE_ID}
SCRIPT = Template(Path(__file__).with_name("page.js").read_text(encoding="utf-8")).safe_substitute(_NAMES)
_log = logging.getLogger("hexapod_dynamics.view.websockets")
_log.setLevel(logging.CRITICAL)  # a refused request is counted and is no error of this program
_starting = threading.Lock()  # one server starts at a time: the hook below is a module's function


class WebPage:
    """A viser server that only pages with its secret address reach; these pages cannot change the server.

    server: the viser.ViserServer. url: the address for the browser, with the token. refused, dropped: numbers of
    requests and messages that were not allowed, by reason. Called in the thread of the server: on_alive with the
    client's id when a page reports that it is open, on_drive with the id and the axes (forward, left, turn), each from
    -1 to 1, of its held keys and its game pad, on_stop when a page asks for the emergency stop by the space bar or a
    game pad.
    """

    def __init__(
        self, host: str, port: int, names: Sequence[str] = (), title: str = "hexapod_dynamics", *, framed: bool = False
    ) -> None:
        """Serve at host and port, 0: any free one.

        names: further addresses by which the page is opened. framed: whether another page may show this one in a frame.
        Raises HexapodError if viser is missing or unknown, or the port is in use; ParameterError for a wrong name.
        """
        viser = import_viser()
        import viser._messages as messages

        self.title, self._framed = title, framed
        self.refused: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.on_alive: Callable[[int], None] = lambda client: None
        self.on_drive: Callable[[int, Axes], None] = lambda client, axes: None
        self.on_stop: Callable[[], None] = lambda: None
        self._parts = read_client(viser)
        self._pages: dict[str, tuple[bytes, bytes]] = {}  # by title: as it is, compressed
        kinds = {kind: getattr(messages, kind) for kind in ALLOWED}
        self._filter = MessageFilter(kinds, self._control, self._is_clickable)
        self._socket = listen(host, port)
        self.port = int(self._socket.getsockname()[1])
        try:
            self.access = Access(host, self.port, names)
            self.url = self.access.url
            self.server = self._start(viser, host)
        except BaseException:
            self._socket.close()
            raise
        set_theme(self.server, dark=False)

    def stop(self) -> None:
        """End the server."""
        import rich

        with _replace(rich.get_console(), "quiet", True):  # viser reports its end; the launch reports it already
            self.server.stop()

    def _start(self, viser: ModuleType, host: str) -> viser.ViserServer:
        import rich
        import websockets.asyncio.server as servers

        real: Callable[..., object] = servers.serve
        marked, served = _Host(host), []

        def serve(handler: Callable[..., object], host: str, port: int, **options: object) -> object:
            if host is not marked:  # another viser server of this process
                return real(handler, host, port, **options)
            served.append(options)
            options["process_request"], options["create_connection"] = self._answer, make_connection_class(self)
            options |= {"max_size": 2**16, "logger": _log, "sock": self._socket}
            return real(handler, **options)

        with (
            _starting,
            _replace(servers, "serve", serve),
            _replace(rich.get_console(), "quiet", True),  # viser prints the address without the token
        ):
            server = viser.ViserServer(host=marked, port=self.port, label="hexapod_dynamics", verbose=False)
        if len(served) != 1 or server.get_port() != self.port:
            server.stop()
            raise HexapodError(f"viser {viser.__version__} does not start its server as expected; {INSTALL}")
        return server

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a request, answer it with the page, or return None: the websocket is opened."""
        from websockets.http11 import Response

        headers = request.headers
        websocket = any("websocket" in value.lower() for value in headers.get_all("Upgrade"))
        local = connection.local_address
        reason = self.access.refusal(
            request.path,
            headers.get_all("Host"),
            headers.get_all("Origin"),
            websocket=websocket,
            local=local[0] if local else None,
        )
        if reason:
            self.refused[reason] += 1
            return Response(http.HTTPStatus.FORBIDDEN, "Forbidden", _headers(REFUSED, "text/plain"), REFUSED)
        if websocket:
            return None
        plain, compressed = self._page()
        body = compressed if any("gzip" in value for value in headers.get_all("Accept-Encoding")) else plain
        answer = _headers(body, HEADERS["Content-Type"])
        if body is compressed:
            answer["Content-Encoding"] = "gzip"
        if not self._framed:
            answer["Content-Security-Policy"] = "frame-ancestors 'none'"
        return Response(http.HTTPStatus.OK, "OK", answer, body)

    def _page(self) -> tuple[bytes, bytes]:
        if self.title not in self._pages:
            before, after = self._parts
            text = f"{before}<title>{html.escape(self.title)}</title><script>{SCRIPT}</script>{after}".encode()
            self._pages = {self.title: (text, gzip.compress(text, 6))}
        return self._pages[self.title]

    def is_admitted(self, connection: ServerConnection, raw: object) -> bool:
        """Whether a message of a page goes on to viser; called in the thread of the server."""
        import msgspec

        client = next((i for i, c in self.server._websock_server._live_connections.items() if c is connection), None)
        try:
            message = msgspec.msgpack.decode(raw) if isinstance(raw, bytes) else None
        except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
            message = None
        if client is None or not isinstance(message, dict):
            self.dropped["format"] += 1
            return False
        if problem := self._filter.find_problem(client, message):
            self.dropped[problem] += 1
            return False
        kind = message["type"]
        if kind == ALIVE:
            self.on_alive(client)
        elif kind == DRIVE:
            self.on_drive(client, read_axes(message) or (0.0, 0.0, 0.0))
        elif kind == STOP:
            self.on_stop()
        elif kind == SLOW:
            self._draw_less(client)
        return kind in ALLOWED

    def _draw_less(self, client: int) -> None:
        """Draw no shadows on a page that is slow: each mesh with a shadow is drawn several times."""
        handle = self.server.get_clients().get(client)
        if handle is not None:
            handle.scene.configure_default_lights(cast_shadow=False)

    def _control(self, client: int, uuid: str) -> Control | None:
        import viser

        page = self.server.get_clients().get(client)
        # The widgets that all pages share and those of this page; none before the page has reported its camera.
        for gui in () if page is None else (self.server.gui, page.gui):
            handle = gui._gui_input_handle_from_uuid.get(uuid)
            if handle is None or handle._impl.removed or not handle.visible or handle.disabled:
                continue
            if isinstance(handle, viser.GuiButtonHandle):
                return (True,)
            if isinstance(handle, viser.GuiCheckboxHandle):
                return True, False
            if isinstance(handle, viser.GuiSliderHandle):
                return Range(handle.min, handle.max)
            if isinstance(handle, (viser.GuiDropdownHandle, viser.GuiButtonGroupHandle)):
                return tuple(handle.options)
        return None

    def _is_clickable(self, client: int, name: str) -> bool:
        handle = self.server.scene._handle_from_node_name.get(name)
        return handle is not None and bool(handle._impl.click_cb) and client in self.server.get_clients()


def set_theme(server: viser.ViserServer, *, dark: bool) -> None:
    """Make all pages light or dark, and remove the button that opens a public tunnel."""
    # The width: until the page has got that of the panel, which it does not always apply.
    server.gui.configure_theme(dark_mode=dark, show_share_button=False, control_width="small")


class _Host(str):
    """The address of a server that is being started; recognised by its identity as a Python object."""


def import_viser() -> ModuleType:
    """Return the module viser; raises MissingPackageError for a missing or unknown one."""
    try:
        import viser
    except ImportError:
        raise MissingPackageError(f"the view needs viser: {INSTALL}") from None
    if viser.__version__ not in VERSIONS:
        raise MissingPackageError(
            f"viser {viser.__version__} is installed; the view knows {', '.join(VERSIONS)}, and with another "
            f"one it cannot keep other pages away from the robot: {INSTALL}"
        )
    return viser


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises HexapodError for a port in use or an address of no interface."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        both = family == socket.AF_INET6 and host in ANY_ADDRESS  # "::" is every address, of IPv4 too
        # with the port as it was given: getaddrinfo makes 4464 of 70000
        return socket.create_server((address[0], port), family=family, backlog=100, dualstack_ipv6=both)
    except (OSError, UnicodeError, OverflowError) as error:  # no name of a host, no number of a port
        remedy = (
            "choose another port (view_port:= of the launch file, parameter `port` of the node); 0 takes any free one"
        )
        if isinstance(error, (socket.gaierror, UnicodeError)) or getattr(error, "errno", 0) == errno.EADDRNOTAVAIL:
            remedy = "the host must be an address of this computer, as 127.0.0.1, or 0.0.0.0 for all of them"
        raise HexapodError(f"the view cannot use {host}:{port}: {error}; {remedy}") from None


def read_client(viser: ModuleType) -> tuple[str, str]:
    """Return the page of viser before and after its title."""
    text = (Path(str(viser.__file__)).parent / "client" / "build" / "index.html").read_text(encoding="utf-8")
    before, title, after = text.partition("<title>Viser</title>")
    if not title or "</head>" not in after:
        raise HexapodError(f"the page of viser {viser.__version__} is not as expected; {INSTALL}")
    return before, after


def make_connection_class(page: WebPage) -> type[ServerConnection]:
    """Return the class of a websocket connection whose messages pass `page.is_admitted`."""
    from websockets.asyncio.server import ServerConnection

    class CheckedConnection(ServerConnection):
        """A connection that drops what a page may not send."""

        async def recv(self, *args: object, **options: object) -> str | bytes:
            """Return the next message that is allowed."""
            while True:
                raw = await super().recv(*args, **options)
                if page.is_admitted(self, raw):
                    return raw

    return CheckedConnection


def _headers(body: bytes, kind: str) -> Headers:
    from websockets.datastructures import Headers

    return Headers(HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))})


@contextlib.contextmanager
def _replace(owner: object, name: str, value: object) -> Iterator[None]:
    """Set an attribute for a while."""
    real = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, real)
