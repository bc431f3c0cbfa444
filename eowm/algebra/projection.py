"""The linear algebra of orthogonal projection: P, kept exact and cheap.

For inputs x₁…xₙ with regularisers α₁…αₙ, Eq. 1 of the paper is

    P = (I + Σ xᵢxᵢᵀ/αᵢ)⁻¹,

a symmetric matrix that damps the directions the inputs span. The recursion of Theorem 3 updates
P one vector at a time. The three forms here give the same numbers faster; each is tested against
the textbook forms in `eowm.algebra.textbook`.

- block: k vectors at once, P ← P − L Lᵀ with L = P Rᵀ chol(αI + R P Rᵀ)⁻ᵀ (Woodbury);
- lazy: P = P₀ − K Kᵀ, the columns L are appended to K and multiplied out once it is full;
- inputs instead of gradients: for G = δᵀX, G P = δᵀ(X P), cheaper when the batch is smaller
  than the layer's output.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


class Projector:
    """One layer's P, in float64: in float32 a small α destroys its positivity (see the tests)."""

    def __init__(
        self,
        size: int,
        device: torch.device | str = "cpu",
        lazy: int = 64,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        self.base = torch.eye(size, dtype=dtype, device=device)  # P₀
        self.factor = torch.zeros(size, lazy, dtype=dtype, device=device)  # K
        self.used = 0  # columns of K in use
        self._base32: Tensor | None = None  # P₀ for projecting float32 gradients

    @property
    def matrix(self) -> Tensor:
        """P itself, multiplied out."""
        pending = self.factor[:, : self.used]
        return self.base - pending @ pending.T

    def update(self, rows: Tensor, alpha: float) -> None:
        """P ← (P⁻¹ + rowsᵀ rows/α)⁻¹ for a block of row vectors (k × size)."""
        rows = rows.to(self.base.dtype)
        if rows.shape[0] > rows.shape[1]:  # only rowsᵀ rows matters: a triangle will do
            rows = torch.linalg.qr(rows, mode="r").R
        pending = self.factor[:, : self.used]
        moved = rows @ self.base - (rows @ pending) @ pending.T  # R P
        gram = moved @ rows.T
        if rows.shape[0] == 1:
            columns = (moved / (alpha + gram.clamp(min=0)).sqrt()).T
        else:
            gram = (gram + gram.T) / 2
            gram.diagonal().add_(alpha)
            root = torch.linalg.cholesky_ex(gram).L
            columns = torch.linalg.solve_triangular(root, moved, upper=False).T
        self._subtract(columns)

    def project(self, rows: Tensor) -> Tensor:
        """rows · P in the precision of the rows; P is symmetric, so this is P on each row."""
        if self._base32 is None:
            self._base32 = self.base.to(torch.float32)
        base = self._base32 if rows.dtype == torch.float32 else self.base
        pending = self.factor[:, : self.used].to(rows.dtype)
        # By the transpose, which is P again: a quarter faster for wide layers.
        return rows @ base.T - (rows @ pending) @ pending.T

    def _subtract(self, columns: Tensor) -> None:
        """P ← P − columns columnsᵀ, put off while K has room."""
        count = columns.shape[1]
        room = self.factor.shape[1]
        if self.used + count > room:
            pending = self.factor[:, : self.used]
            self.base.addmm_(pending, pending.T, alpha=-1)
            self.used, self._base32 = 0, None
        if count > room:  # a block that K can never hold
            self.base.addmm_(columns, columns.T, alpha=-1)
        else:
            self.factor[:, self.used : self.used + count] = columns
            self.used += count

    def state_dict(self) -> dict[str, Tensor]:
        """With K as it stands: multiplying out here would change the last bits of later steps."""
        return {"base": self.base, "factor": self.factor[:, : self.used].clone()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.base.copy_(state["base"])
        self.used = state["factor"].shape[1]
        self.factor[:, : self.used] = state["factor"]
        self._base32 = None


def geometric(schedule: tuple[float, float], progress: float) -> float:
    """From `schedule[0]` at the task's start to `schedule[1]` at its end."""
    start, end = schedule
    return start * (end / start) ** progress


def mean_input(x: Tensor) -> Tensor:
    """What OWM keeps of a batch at a linear layer: its mean input, as one row."""
    return x.mean(0, keepdim=True)


def mean_map(x: Tensor) -> Tensor:
    """The mean image of a batch, with a batch dimension of 1.

    Flattened as channels-last maps lie in memory: `x.mean(0)` takes 25 times as long for them.
    """
    rows = x.permute(0, 2, 3, 1)
    return rows.flatten(1).mean(0).view(1, *rows.shape[1:]).permute(0, 3, 1, 2)


def mean_patches(x: Tensor, kernel: int, stride: int) -> Tensor:
    """What OWM keeps of a batch at a convolution: the patches of the mean padded map, as rows."""
    return F.unfold(x.mean(0, keepdim=True), kernel, stride=stride)[0].T


class GradientSpan:
    """The span of gradients of single outputs, and the projection of a gradient off it.

    The gradient of one output of one image is δxᵀ in a linear layer: its two factors are kept,
    not the product. Small convolution gradients are kept as they are. With J the matrix of all
    kept gradients, K = JJᵀ is a Hadamard product of Gram matrices, and a gradient g becomes
    g − Jᵀ K⁺ J g: the same as after Gram-Schmidt, because only the span of J matters.
    """

    CUTOFF = 1e-10  # eigenvalues of K below this share of the largest are rounding

    def __init__(self) -> None:
        self.factors: dict[str, tuple[Tensor, Tensor]] = {}  # x and δ of linear layers
        self.explicit: dict[str, Tensor] = {}  # flattened gradients of convolutions
        self.inverse: Tensor | None = None  # K⁺, float64
        self._inverse32: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.inverse is None else len(self.inverse)

    def extend(self, factors: Mapping[str, tuple[Tensor, Tensor]],
               explicit: Mapping[str, Tensor]) -> None:  # fmt: skip
        """Add gradients; call `build` before the next `project`."""
        for name, (x, delta) in factors.items():
            if name in self.factors:
                x, delta = (torch.cat(p) for p in zip(self.factors[name], (x, delta), strict=True))
            self.factors[name] = (x, delta)
        for name, rows in explicit.items():
            known = self.explicit.get(name)
            self.explicit[name] = rows if known is None else torch.cat([known, rows])

    def build(self) -> None:
        """K⁺ by an eigen-decomposition: nearly parallel gradients make K singular."""
        values, vectors = torch.linalg.eigh(self.gram())
        kept = values > self.CUTOFF * values[-1]
        self.inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        self._inverse32 = None

    def gram(self) -> Tensor:
        """K = JJᵀ in float64."""
        parts = [
            (x.double() @ x.double().T) * (d.double() @ d.double().T)
            for x, d in self.factors.values()
        ]
        parts += [rows.double() @ rows.double().T for rows in self.explicit.values()]
        return torch.stack(parts).sum(0)

    def kernel(self, name: str, inputs: Tensor) -> Tensor:
        """How alike the inputs of a linear layer are to the kept ones, (images, kept)."""
        return inputs @ self.factors[name][0].T

    def products(self, kernels: Mapping[str, Tensor], deltas: Mapping[str, Tensor],
                 gradients: Mapping[str, Tensor]) -> Tensor:  # fmt: skip
        """J g in float64. A batch's gradient in a linear layer is a sum of δxᵀ, too, so its product
        with a kept gradient is one of vectors, (xᵢ·x)(δᵢ·δ) summed, and never one of matrices."""
        parts = [
            (kernels[name] * (deltas[name] @ delta.T)).sum(0)
            for name, (_, delta) in self.factors.items()
        ]
        parts += [rows @ gradients[name].flatten() for name, rows in self.explicit.items()]
        return torch.stack(parts).sum(0, dtype=torch.float64)

    def coefficients(self, products: Tensor) -> Tensor:
        """c = K⁺ (J g)"""
        assert self.inverse is not None
        return (self.inverse @ products).to(torch.float32)

    def rough_coefficients(self, products: Tensor) -> Tensor:
        """The same in float32: half the memory to read, which is what it takes time for."""
        assert self.inverse is not None
        if self._inverse32 is None:
            self._inverse32 = self.inverse.to(torch.float32)
        return self._inverse32 @ products.to(torch.float32)

    def combination(self, name: str, c: Tensor) -> Tensor:
        """Jᵀc in one layer, as its gradient is flattened: one row an output."""
        if name in self.explicit:
            return c @ self.explicit[name]
        x, delta = self.factors[name]
        return (delta * c[:, None]).T @ x

    def response(self, name: str, kernel: Tensor, c: Tensor) -> Tensor:
        """What Jᵀc, added to a linear layer's weights, would add to its outputs."""
        return (kernel * c) @ self.factors[name][1]

    def project(self, batch: Mapping[str, tuple[Tensor, Tensor]],
                gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:  # fmt: skip
        """Gradients by layer, without their component in the span; `batch` holds the x and δ that
        the gradients of linear layers are made of."""
        kernels = {name: self.kernel(name, batch[name][0]) for name in self.factors}
        deltas = {name: delta for name, (_, delta) in batch.items()}
        c = self.coefficients(self.products(kernels, deltas, gradients))
        return {name: g - self.combination(name, c).view_as(g) for name, g in gradients.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"factors": self.factors, "explicit": self.explicit, "inverse": self.inverse}

    def load_state_dict(self, state: Mapping[str, Any], device: torch.device) -> None:
        self.factors = {n: (x.to(device), d.to(device)) for n, (x, d) in state["factors"].items()}
        self.explicit = {n: rows.to(device) for n, rows in state["explicit"].items()}
        self.inverse = None if state["inverse"] is None else state["inverse"].to(device)
        self._inverse32 = None
