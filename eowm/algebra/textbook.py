"""Textbook forms, as plain as the papers print them: slow, and what the fast forms must equal."""

import torch
from torch import Tensor


def owm_closed_form(inputs: Tensor, alphas: Tensor) -> Tensor:
    """Eq. 1 with one α per row of `inputs`: P = (I + Σ xᵢxᵢᵀ/αᵢ)⁻¹."""
    size = inputs.shape[1]
    information = torch.eye(size, dtype=inputs.dtype)
    for x, alpha in zip(inputs, alphas, strict=True):
        information += torch.outer(x, x) / alpha
    return torch.linalg.inv(information)


def owm_recursion(p: Tensor, x: Tensor, alpha: float) -> Tensor:
    """Eq. 9: κ = P x/(α + xᵀP x), P ← P − κ xᵀP."""
    kappa = p @ x / (alpha + x @ p @ x)
    return p - torch.outer(kappa, x @ p)


def eowm_projector(p: Tensor, q_ort: Tensor, c1: float, c2: float, similar: bool) -> Tensor:
    """Eq. 7, multiplied out: P (c1 I + c2 Q) or P (c1 I + c2 Q_ort), with Q = I − Q_ort."""
    identity = torch.eye(len(p), dtype=p.dtype)
    return p @ (c1 * identity + c2 * (identity - q_ort if similar else q_ort))


def stride_patches(padded: Tensor, size: int, stride: int) -> Tensor:
    """Every size × size patch of one (channels, height, width) map, flattened, by two loops."""
    _, height, width = padded.shape
    rows = []
    for top in range(0, height - size + 1, stride):
        for left in range(0, width - size + 1, stride):
            rows.append(padded[:, top : top + size, left : left + size].reshape(-1))
    return torch.stack(rows)
