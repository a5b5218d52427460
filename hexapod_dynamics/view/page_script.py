"""The script that the page gets beside viser's own, `page.js`."""

from pathlib import Path
from string import Template

from hexapod_dynamics.view.client_messages import ALIVE, DRIVE, SLOW, STOP

TITLE_ID = "hexapod-title"  # of the element whose text becomes the page's title
_TEXT = Template(Path(__file__).with_name("page.js").read_text(encoding="utf-8"))
SCRIPT = f"<script>{_TEXT.safe_substitute(alive=ALIVE, drive=DRIVE, stop=STOP, slow=SLOW, title=TITLE_ID)}</script>"
