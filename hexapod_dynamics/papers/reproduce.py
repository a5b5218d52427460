"""`ros2 run hexapod_dynamics reproduce farghdani2025`: the figures and tables of a paper, reproduced by this
package.
"""

import argparse
import importlib
import shutil
import sys
import time
from pathlib import Path

from hexapod_dynamics.dynamics.formulas import INSTALL_CASADI

# Modules of hexapod_dynamics.papers.figures, in the order of `all`, each with TITLE and reproduce(page, progress).
PAPERS = {
    "farghdani2025": "Farghdani & Chhabra 2025: the damaged hexapod (figures 3 to 8, runtime)",
    "hollerbach1980": "Hollerbach 1980: recursive Lagrangian dynamics (tables I, II)",
    "xiang2008": "Xiang, Arora & Abdel-Malek 2008: sensitivities and motion prediction",
    "mueller_kumar": "Mueller & Kumar: time derivatives of inverse dynamics",
    "kusaka_tanaka2022": "Kusaka & Tanaka 2022: partial Lagrangian",
}


class Progress:
    """Shows the progress of a paper on stderr: one line that is rewritten on a terminal, elsewhere one line for
    each stage.
    """

    def __init__(self, paper, stream=None):
        self.paper, self.stream = paper, stream or sys.stderr
        self._begun, self._last = time.monotonic(), None

    def __call__(self, fraction, what):
        """Show the completed fraction of the work (0 to 1) and the name of the next stage."""
        line = f"{self.paper}: {100.0 * fraction:3.0f} % {time.monotonic() - self._begun:5.1f} s  {what}"
        if self.stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{line[:width]:<{width}}", end="\n" if fraction >= 1.0 else "", file=self.stream, flush=True)
        elif what != self._last:
            print(line, file=self.stream, flush=True)
        self._last = what


def shown(page):
    """Return the text and tables of a page, without its pictures and links, for a terminal."""
    lines = [line for line in Path(page).read_text().splitlines() if not line.startswith(("![", "["))]
    kept = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).rstrip()


def reproduce(papers, output, *, progress=Progress):
    """Make the papers' pages in the folder `output` and yield the path of each."""
    import matplotlib  # whose absence `main` reports

    from hexapod_dynamics.papers.figures.output import STYLE, Page

    for paper in papers:
        module, report = importlib.import_module(f"hexapod_dynamics.papers.figures.{paper}"), progress(paper)
        page = Page(output, paper, module.TITLE)
        with matplotlib.rc_context(STYLE):
            module.reproduce(page, report)
        report(1.0, "done")
        yield page.write()


def main(args=None):
    """Read the command line, make the requested pages, print the comparison with the papers."""
    parser = argparse.ArgumentParser(
        prog="reproduce",
        description="Make a paper's figures (PNG), data (CSV) and tables again, and say what agrees and what differs.",
        epilog="\n".join(f"  {name:18s} {what}" for name, what in PAPERS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*PAPERS, "all"]
    parser.add_argument("papers", nargs="+", metavar="PAPER", choices=names, help=", ".join(names))
    where = "folder to write into, made if need be (default: %(default)s)"
    parser.add_argument("--output", default="reproduced", metavar="FOLDER", help=where)
    options = parser.parse_args(args)
    papers = list(PAPERS) if "all" in options.papers else list(dict.fromkeys(options.papers))
    output = Path(options.output).expanduser()
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--output {options.output}: {error.strerror}; choose a folder that can be written")
    try:
        for page in reproduce(papers, output):
            print(f"{shown(page)}\n\nwritten: {page}\n", flush=True)
    except ModuleNotFoundError as error:
        if error.name == "casadi":
            parser.error(f"this paper's figures need CasADi: {INSTALL_CASADI}")
        if error.name is None or not error.name.startswith("matplotlib"):
            raise
        parser.error("figures need matplotlib: pip install matplotlib (or apt install python3-matplotlib)")
    except KeyboardInterrupt:
        return 130
    return 0
