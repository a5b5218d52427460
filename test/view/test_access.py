"""Which requests of a browser reach the view: by host, origin and token."""

import pytest

from hexapod_dynamics.errors import ParameterError
from hexapod_dynamics.view.access import Access

TOKEN = "secret"


def ask(access, host, origin=None, path=f"/{TOKEN}", local=None, websocket=True):
    origins = [] if origin is None else [origin]
    return access.refusal(path, [host], origins, websocket=websocket, local=local)


def opens(access, address, local=None):
    return ask(access, address, f"http://{address}", local=local) == ""


@pytest.mark.parametrize("address", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LocalHost:8080"])
def test_a_loopback_server_is_opened_by_its_three_names(address):
    assert opens(Access("127.0.0.1", 8080, token=TOKEN), address)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.0.0.1:80", "localhost:8081", "localhost.evil.example:8080", "192.168.1.5:8080", "", ":8080"],
)
def test_every_other_address_is_refused(address):
    access = Access("127.0.0.1", 8080, token=TOKEN)
    assert ask(access, address, f"http://{address}", local="192.168.1.5") == "host"
    assert ask(access, address, websocket=False) == "host"


def test_a_request_has_one_host_and_at_most_one_origin():
    access, own = Access("127.0.0.1", 8080, token=TOKEN), "127.0.0.1:8080"
    assert access.refusal("/secret", [], [], websocket=False) == "host"
    assert access.refusal("/secret", [own, own], [], websocket=False) == "host"
    assert access.refusal("/secret", [own], [f"http://{own}"] * 2, websocket=True) == "origin"


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
def test_a_page_of_another_origin_is_refused(origin):
    access = Access("127.0.0.1", 8080, token=TOKEN)
    assert ask(access, "127.0.0.1:8080", origin) == "origin"
    assert ask(access, "127.0.0.1:8080", origin, websocket=False) == "origin"


def test_a_websocket_needs_an_origin_and_a_page_that_is_opened_has_none():
    access = Access("127.0.0.1", 8080, token=TOKEN)
    assert ask(access, "127.0.0.1:8080") == "origin"
    assert ask(access, "127.0.0.1:8080", websocket=False) == ""


@pytest.mark.parametrize(
    "path", ["/", "", "/secre", "/secrets", "/SECRET", "/?secret", "/x/secret", "/secret/x", "/\udcff"]
)
def test_another_path_than_the_token_is_refused(path):
    assert ask(Access("127.0.0.1", 8080, token=TOKEN), "localhost:8080", "http://localhost:8080", path) == "token"


@pytest.mark.parametrize("path", ["/secret", "/secret/", "/secret/?darkMode"])
def test_the_token_is_the_path(path):
    assert ask(Access("127.0.0.1", 8080, token=TOKEN), "localhost:8080", "http://localhost:8080", path) == ""


def test_each_server_has_a_token_of_its_own_that_nobody_guesses():
    tokens = {Access("127.0.0.1", 8080).token for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) == 32 for token in tokens)
    access = Access("127.0.0.1", 8080)
    assert access.url == f"http://127.0.0.1:8080/{access.token}/"


def test_a_server_on_every_address_is_opened_by_the_address_that_the_connection_came_to():
    access = Access("0.0.0.0", 8080, token=TOKEN)
    assert opens(access, "192.168.1.5:8080", local="192.168.1.5")
    assert opens(access, "[fe80::1]:8080", local="fe80::1%eth0")
    assert opens(access, "localhost:8080", local="127.0.0.1")
    assert opens(Access("::", 8080, token=TOKEN), "192.168.1.5:8080", local="::ffff:192.168.1.5")
    assert not opens(access, "192.168.1.6:8080", local="192.168.1.5")
    assert not opens(access, "rebound.example:8080", local="192.168.1.5")


def test_names_are_further_addresses():
    access = Access("127.0.0.1", 8080, ["robot.local", "localhost:9000", "fe80::2"], token=TOKEN)
    for address in ("robot.local:8080", "localhost:9000", "[fe80::2]:8080", "127.0.0.1:8080"):
        assert opens(access, address)
    assert not opens(access, "robot.local:9000")


def test_a_server_on_one_address_of_the_network_is_opened_by_that_address():
    access = Access("192.168.1.5", 8080, token=TOKEN)
    assert opens(access, "192.168.1.5:8080")
    assert not opens(access, "localhost:8080")


def test_port_80_is_not_written_by_a_browser():
    assert opens(Access("127.0.0.1", 80, token=TOKEN), "localhost")
    assert opens(Access("127.0.0.1", 80, token=TOKEN), "[::1]")


@pytest.mark.parametrize("name", ["http://robot.local", "robot local", "robot.local:port", ":9000", "a,b"])
def test_a_name_that_is_no_address_is_refused_with_an_example(name):
    with pytest.raises(ParameterError, match="robot.local or localhost:9000"):
        Access("127.0.0.1", 8080, [name])
