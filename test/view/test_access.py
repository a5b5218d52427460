"""Which requests of a browser reach the view: by host, origin and token."""

import pytest

from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.view.access import Access


def server(host="127.0.0.1", port=8080, names=()):
    return Access(host, port, names, token="secret")


def ask(access, host, origin=None, path="/secret", local=None, websocket=True):
    origins = [] if origin is None else [origin]
    return access.refusal(path, [host], origins, websocket=websocket, local=local)


LOOPBACK, EVERYWHERE, NAMES = server(), server("0.0.0.0"), ["robot.local", "localhost:9000", "fe80::2"]
OTHERS = (
    "127.0.0.1",
    "127.0.0.1:80",
    "localhost:8081",
    "localhost.evil.example:8080",
    "192.168.1.5:8080",
    "",
    ":8080",
)


@pytest.mark.parametrize(
    ("access", "addresses", "local", "refusal"),
    [
        (LOOPBACK, ("127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LocalHost:8080"), None, ""),
        (LOOPBACK, OTHERS, "192.168.1.5", "host"),
        (LOOPBACK, OTHERS, None, "host"),
        (EVERYWHERE, ("192.168.1.5:8080",), "192.168.1.5", ""),  # the address that the connection came to
        (EVERYWHERE, ("[fe80::1]:8080",), "fe80::1%eth0", ""),
        (EVERYWHERE, ("localhost:8080",), "127.0.0.1", ""),
        (EVERYWHERE, ("192.168.1.6:8080", "rebound.example:8080"), "192.168.1.5", "host"),
        (server("::"), ("192.168.1.5:8080",), "::ffff:192.168.1.5", ""),
        (server(names=NAMES), ("robot.local:8080", "localhost:9000", "[fe80::2]:8080", "127.0.0.1:8080"), None, ""),
        (server(names=NAMES), ("robot.local:9000",), None, "host"),
        (server("192.168.1.5"), ("192.168.1.5:8080",), None, ""),
        (server("192.168.1.5"), ("localhost:8080",), None, "host"),
        (server(port=80), ("localhost", "[::1]"), None, ""),  # a browser does not write this port
    ],
)
def test_a_server_is_opened_by_its_own_addresses_alone(access, addresses, local, refusal):
    for address in addresses:
        assert ask(access, address, f"http://{address}", local=local) == refusal, address
        assert ask(access, address, local=local, websocket=False) == refusal, address


def test_a_request_has_one_host_and_at_most_one_origin_and_a_websocket_needs_one():
    own = "127.0.0.1:8080"
    assert LOOPBACK.refusal("/secret", [], [], websocket=False) == "host"
    assert LOOPBACK.refusal("/secret", [own, own], [], websocket=False) == "host"
    assert LOOPBACK.refusal("/secret", [own], [f"http://{own}"] * 2, websocket=True) == "origin"
    assert ask(LOOPBACK, own) == "origin"
    assert ask(LOOPBACK, own, websocket=False) == ""  # a page that is opened


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "https://127.0.0.1:8080",
        "http://127.0.0.1",
        "http://127.0.0.1:8080.evil.example",
        "http://localhost:8080",
    ],
)
@pytest.mark.parametrize("websocket", [True, False])
def test_a_page_of_another_origin_is_refused(origin, websocket):
    assert ask(LOOPBACK, "127.0.0.1:8080", origin, websocket=websocket) == "origin"


OTHER_PATHS = ("/", "", "/secre", "/secrets", "/SECRET", "/?secret", "/x/secret", "/secret/x", "/\udcff")


@pytest.mark.parametrize(
    ("path", "refusal"),
    [*((path, "token") for path in OTHER_PATHS), *((path, "") for path in ("/secret", "/secret/", "/secret/?dark"))],
)
def test_the_token_is_the_path(path, refusal):
    assert ask(LOOPBACK, "localhost:8080", "http://localhost:8080", path) == refusal


def test_each_server_has_a_token_of_its_own_that_nobody_guesses():
    servers = [Access("127.0.0.1", 8080) for _ in range(50)]
    assert {len(access.token) for access in servers} == {32}
    assert len({access.token for access in servers}) == 50
    assert servers[0].url == f"http://127.0.0.1:8080/{servers[0].token}/"


@pytest.mark.parametrize("name", ["http://robot.local", "robot local", "robot.local:port", ":9000", "a,b"])
def test_a_name_that_is_no_address_is_refused_with_an_example(name):
    with pytest.raises(ParameterError, match="robot.local or localhost:9000"):
        server(names=[name])
