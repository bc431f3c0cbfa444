"""One colour and marker per method, also for colour-blind readers and for methods to come."""

import itertools

import numpy as np
import pytest

from eowm import paper
from eowm.analysis import style
from eowm.settings.config import load_config

NEW = ("new-a", "new-b", "new-c", "new-d")
# Full protanopia, deuteranopia and tritanopia on linear RGB (Machado, Oliveira, Fernandes, 2009).
SEEN = {
    "normal": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(1)


def lab(colour: str, eyes: str) -> np.ndarray:
    """CIE L*a*b* of a hexadecimal colour as these eyes see it."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(SEEN[eyes]) @ linear, 0, 1) / WHITE
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_colours_stay_apart_for_colour_blind_readers(eyes):
    """A distance of 2 can just be seen side by side; grey and black also differ by their line."""
    assert set(paper.table2().method) | {"finetune", "joint"} == set(style.LOOKS)
    for first, second in itertools.combinations(style.LOOKS, 2):
        apart = np.linalg.norm(lab(style.LOOKS[first][0], eyes) - lab(style.LOOKS[second][0], eyes))
        assert apart > (10 if {first, second} & {"finetune", "joint"} else 15), (first, second)


def test_a_variant_differs_by_line_and_fill_alone(config):
    plain, variant = style.look(config, "owm"), style.look(config, "owm:matched")
    assert (plain.colour, plain.marker) == (variant.colour, variant.marker)
    assert plain.line != variant.line
    assert (plain.filled, variant.filled) == (True, False)


def test_methods_never_look_alike():
    """Four that nobody has heard of: apart from each other and from the shipped ones."""
    config = load_config()
    new = {name: config.methods["owm"] for name in NEW}
    config = config.model_copy(update={"methods": config.methods | new})
    looks = [style.look(config, name) for name in (*style.LOOKS, *NEW)]
    assert len({look.marker for look in looks}) == len({look.colour for look in looks}) == 14
