"""The module that knows viser's internals refuses a viser that it does not know."""

import socket
from urllib.request import urlopen

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')

import viser

from hexapod_dynamics.errors import HexapodError, MissingPackageError
from hexapod_dynamics.view import web_page
from hexapod_dynamics.view.web_page import WebPage


def test_an_unknown_viser_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "1.2.0")
    with pytest.raises(MissingPackageError, match=r'viser 1\.2\.0 is installed.*pip install "viser>=1\.1,<1\.1\.2"'):
        WebPage("127.0.0.1", 0)


def test_a_viser_that_starts_its_server_in_another_way_is_refused(monkeypatch):
    """As if viser had another name for the module whose call is replaced."""
    monkeypatch.setattr(web_page, "_replace", lambda module, name, value: web_page.contextlib.nullcontext())
    with pytest.raises(HexapodError, match="does not start its server as expected"):
        WebPage("127.0.0.1", 0)


def test_a_page_without_the_expected_title_is_refused(monkeypatch, tmp_path):
    (tmp_path / "client" / "build").mkdir(parents=True)
    (tmp_path / "client" / "build" / "index.html").write_text("<html><head></head></html>")
    monkeypatch.setattr(viser, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(HexapodError, match="page of viser"):
        WebPage("127.0.0.1", 0)


def test_a_port_in_use_is_refused_and_port_0_finds_a_free_one():
    first = WebPage("127.0.0.1", 0)
    try:
        with pytest.raises(HexapodError, match=f"cannot use 127.0.0.1:{first.port}: .*0 takes any free one"):
            WebPage("127.0.0.1", first.port)
    finally:
        first.stop()


@pytest.mark.parametrize(
    ("host", "port", "remedy"),
    [
        ("a" * 70, 0, "an address of this computer"),
        ("robot..local", 0, "an address of this computer"),
        ("192.0.2.1", 0, "an address of this computer"),
        ("127.0.0.1", 70_000, "another port"),
    ],
)
def test_an_address_that_this_computer_has_not_is_refused_by_name_and_with_its_remedy(host, port, remedy):
    """The names ended the view with a UnicodeError; of port 70000 it listened to 4464."""
    with pytest.raises(HexapodError, match=f"cannot use {host}:{port}: .*{remedy}"):
        WebPage(host, port)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this computer has no IPv6")
def test_a_server_on_every_address_of_ipv6_is_opened_by_the_address_that_it_prints():
    """It listened to IPv6 alone, and printed http://127.0.0.1."""
    page = WebPage("::", 0)
    try:
        assert urlopen(page.url, timeout=20).status == 200
    finally:
        page.stop()


def test_a_server_of_the_same_process_that_is_not_a_view_is_left_alone():
    page = WebPage("127.0.0.1", 0)
    other = viser.ViserServer(host="127.0.0.1", port=page.port + 1, verbose=False)
    try:
        assert other.get_port() != page.port
        assert page.refused == page.dropped == {}
    finally:
        other.stop()
        page.stop()
