"""The module that knows viser's internals refuses a viser that it does not know."""

import pytest

pytest.importorskip("viser", reason='the view needs viser: pip install "viser>=1.1,<1.1.2"')

import viser

from hexapod_dynamics.errors import HexapodError, MissingPackageError
from hexapod_dynamics.view.web_page import WebPage


def test_an_unknown_viser_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "1.2.0")
    with pytest.raises(MissingPackageError, match=r'viser 1\.2\.0 is installed.*pip install "viser>=1\.1,<1\.1\.2"'):
        WebPage("127.0.0.1", 0)


def test_a_port_in_use_is_refused_and_port_0_finds_a_free_one():
    first = WebPage("127.0.0.1", 0)
    try:
        with pytest.raises(HexapodError, match=f"cannot use 127.0.0.1:{first.port}: .*0 takes any free one"):
            WebPage("127.0.0.1", first.port)
    finally:
        first.stop()
