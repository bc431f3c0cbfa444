"""Pictures inside the page, as data addresses."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from eowm.analysis.figures import small_png

WIDTH, COLOURS = 1000, 32  # enough for a screen; the files beside the page have everything
CAPTIONS = {
    "figure1": "Figure 1: where SGD, OWM and EOWM go when task B is learnt after task A.",
    "figure2": "Figure 2: what EOWM does with one batch.",
    "cost": "Cost: time and memory of each cell.",
    "scaling": "Cost against the number of tasks.",
    "tradeoff": "Forgetting against plasticity.",
}


@dataclass(frozen=True)
class Picture:
    name: str
    caption: str
    address: str  # data:…


def found(folder: Path) -> list[Picture]:
    """The figures that the notebooks drew, small enough to stand inside the page.

    Only those with a caption: the page has matrices, claims and ambiguities in its own words.
    """
    files = {name: folder / f"{name}.png" for name in CAPTIONS}
    return [
        Picture(name, CAPTIONS[name], _small(path)) for name, path in files.items() if path.exists()
    ]


def embedded(figure: Figure) -> str:
    """As a small PNG: with every cell run, SVG would take more than half of the page."""
    return "data:image/png;base64," + base64.b64encode(small_png(figure)).decode()


def _small(path: Path) -> str:
    with Image.open(path) as image:
        picture = image.convert("RGB")
    if picture.width > WIDTH:
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.quantize(COLOURS).save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
