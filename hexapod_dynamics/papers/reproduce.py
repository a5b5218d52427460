"""`ros2 run hexapod_dynamics reproduce farghdani2025`: the figures and tables of a paper, reproduced by this
package.
"""

import importlib
from pathlib import Path

import matplotlib

from hexapod_dynamics.papers.figures.output import STYLE, Page
from hexapod_dynamics.tools.command_line import Progress, make_parser, run_command

# Modules of hexapod_dynamics.papers.figures, in the order of `all`, each with TITLE and reproduce(page, progress).
PAPERS = {
    "farghdani2025": "Farghdani & Chhabra 2025: the damaged hexapod (figures 3 to 8, runtime)",
    "hollerbach1980": "Hollerbach 1980: recursive Lagrangian dynamics (tables I, II)",
    "xiang2008": "Xiang, Arora & Abdel-Malek 2008: sensitivities and motion prediction",
    "mueller_kumar": "Mueller & Kumar: time derivatives of inverse dynamics",
    "kusaka_tanaka2022": "Kusaka & Tanaka 2022: partial Lagrangian",
}


def plain_text(page):
    """Return the text and tables of a page, without its pictures and links, for a terminal."""
    lines = [line for line in Path(page).read_text().splitlines() if not line.startswith(("![", "["))]
    kept = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).rstrip()


def reproduce(papers, output, *, progress=Progress):
    """Make the papers' pages in the folder `output` and yield the path of each."""
    for paper in papers:
        module, report = importlib.import_module(f"hexapod_dynamics.papers.figures.{paper}"), progress(paper)
        page = Page(output, paper, module.TITLE)
        with matplotlib.rc_context(STYLE):
            module.reproduce(page, report)
        report(1.0, "done")
        yield page.write()


def main(args=None):
    """Make the requested pages, and print the comparison with the papers; return the exit status."""
    what = "Make a paper's figures (PNG), data (CSV) and tables again, and say what agrees and what differs.\n\n"
    parser = make_parser("reproduce", what + "\n".join(f"  {n:18s} {title}" for n, title in PAPERS.items()), whole=True)
    names = [*PAPERS, "all"]
    parser.add_argument("papers", nargs="+", metavar="PAPER", choices=names, help=", ".join(names))
    where = "folder to write into, made if need be (default: %(default)s)"
    parser.add_argument("--output", default="reproduced", metavar="FOLDER", help=where)
    return run_command(parser, _reproduce, args)


def _reproduce(given):
    papers = list(PAPERS) if "all" in given.papers else list(dict.fromkeys(given.papers))
    for page in reproduce(papers, Path(given.output).expanduser()):
        print(f"{plain_text(page)}\n\nwritten: {page}\n", flush=True)
    return 0
