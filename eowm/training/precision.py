"""Products of layers in bfloat16 while a network learns: faster on hardware that has them.

Factors, an added bias and the result of a product are rounded to bfloat16 (8 significant bits),
forwards and backwards; sums inside it are of float32. Weights, activations, losses, optimisers
and all that is computed without gradients, evaluation too, stay in float32, the projectors of OWM
and EOWM in float64. What a method gathers by backward passes (EWC's Fisher information,
OGD's gradients) is rounded as learning is.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from eowm.settings.run import Precision

PRODUCTS = {F.linear, F.conv2d, F.conv_transpose2d, torch.baddbmm}


class Bfloat16Products(TorchFunctionMode):
    """Inside it, `PRODUCTS` that take part in learning see rounded factors."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func not in PRODUCTS or not torch.is_grad_enabled():
            return func(*args, **kwargs)
        rounded = {name: _rounded(value) for name, value in kwargs.items()}
        return func(*map(_rounded, args), **rounded).float()


def _rounded(value: Any) -> Any:
    return value.bfloat16() if isinstance(value, Tensor) else value


def products_in(precision: Precision) -> AbstractContextManager[Any]:
    return Bfloat16Products() if precision == "bfloat16" else nullcontext()
