"""Import `torchvision.datasets`, also beside a torch that cannot load torchvision's operators.

A CPU-only torch with the registry's CUDA build of torchvision lacks the two operators that
torchvision looks up while it is imported. Their schemas are enough: datasets never call them.
Where torchvision imports as it is, nothing is declared.
"""

import importlib
import sys
from types import ModuleType

import torch

_library: torch.library.Library | None = None  # the declarations live as long as this object


def datasets() -> ModuleType:
    """The module `torchvision.datasets`."""
    try:
        return importlib.import_module("torchvision.datasets")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    _declare_operators()
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # the half-imported package
    return importlib.import_module("torchvision.datasets")


def _declare_operators() -> None:
    global _library
    _library = _library or torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
