"""Every fast form of P against the textbook forms in `eowm.algebra.textbook`."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eowm.algebra import textbook
from eowm.algebra.projection import Projector, geometric, mean_map, mean_patches


def vectors(count: int, size: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, size, generator=generator, dtype=torch.float64)


def test_recursion_equals_closed_form_for_any_alphas() -> None:
    """Theorem 3 against Eq. 1 (method-spec: < 1e-9)."""
    inputs, alphas = vectors(40, 15), torch.linspace(1.0, 1e-3, 40, dtype=torch.float64)
    p = torch.eye(15, dtype=torch.float64)
    for x, alpha in zip(inputs, alphas, strict=True):
        p = textbook.owm_recursion(p, x, float(alpha))
    assert (p - textbook.owm_closed_form(inputs, alphas)).abs().max() < 1e-9


@pytest.mark.parametrize("lazy", [1, 3, 64])
def test_lazy_updates_equal_the_recursion(lazy: int) -> None:
    projector, p = Projector(20, lazy=lazy), torch.eye(20, dtype=torch.float64)
    for i, x in enumerate(vectors(50, 20)):
        alpha = 0.9 ** (i + 1)
        projector.update(x[None], alpha)
        p = textbook.owm_recursion(p, x, alpha)
        assert (projector.matrix - p).abs().max() < 1e-12


@settings(max_examples=15, deadline=None)
@given(
    rows=st.integers(1, 30),
    size=st.integers(1, 20),
    lazy=st.sampled_from([1, 8, 64]),
    alpha=st.floats(1e-4, 10),
)
def test_a_block_equals_its_rows_one_by_one(rows: int, size: int, lazy: int, alpha: float) -> None:
    """Also for more rows than dimensions, and for blocks larger than the lazy factor."""
    block, single = Projector(size, lazy=lazy), Projector(size, lazy=lazy)
    for seed in range(3):
        chunk = vectors(rows, size, seed)
        block.update(chunk, alpha)
        for x in chunk:
            single.update(x[None], alpha)
    assert (block.matrix - single.matrix).abs().max() < 1e-11


def test_blocks_of_patches_equal_their_rows_to_1e_12() -> None:
    """The sizes of the CIFAR-10 net: 81 patches in 256 dimensions, 25 in 512 (method-spec §15)."""
    for rows, size in ((81, 256), (25, 512)):
        block, single = Projector(size), Projector(size)
        chunk = vectors(rows, size) / size**0.5
        block.update(chunk, 1.0)
        for x in chunk:
            single.update(x[None], 1.0)
        assert (block.matrix - single.matrix).abs().max() < 1e-12


def test_projecting_inputs_equals_projecting_the_gradient() -> None:
    """δᵀ(X P) = (δᵀX) P, to 1e-6 relative in float32."""
    projector = Projector(300)
    for x in vectors(70, 300):
        projector.update(x[None], 0.5)
    inputs, delta = vectors(40, 300, seed=1).float(), vectors(40, 90, seed=2).float()
    by_inputs = delta.T @ projector.project(inputs)
    by_gradient = projector.project(delta.T @ inputs)
    assert (by_inputs - by_gradient).norm() / by_gradient.norm() < 1e-6


def test_projecting_equals_multiplying_by_the_matrix() -> None:
    projector = Projector(30, lazy=7)
    for x in vectors(17, 30):
        projector.update(x[None], 0.1)
    gradient = vectors(5, 30, seed=1)
    assert (projector.project(gradient) - gradient @ projector.matrix).abs().max() < 1e-12
    single = projector.project(gradient.float())
    assert single.dtype == torch.float32
    assert (single - (gradient @ projector.matrix).float()).abs().max() < 1e-5


def test_stored_inputs_are_protected_as_alpha_vanishes() -> None:
    """W_new x = W_old x for every stored x: the point of OWM."""
    projector, inputs = Projector(40), vectors(10, 40)
    for x in inputs:
        projector.update(x[None], 1e-9)
    step = projector.project(vectors(6, 40, seed=2))
    assert (step @ inputs.T).abs().max() < 1e-6
    unprotected = vectors(1, 40, seed=3)
    assert (step @ unprotected.T).abs().max() > 1e-2


def test_patches_are_those_of_the_convolution() -> None:
    """Order of a patch's entries = order of a flattened filter; places as two loops give them."""
    x = vectors(6, 3 * 8 * 8).view(6, 3, 8, 8)
    rows = mean_patches(x, 2, stride=2)
    assert torch.equal(rows, textbook.stride_patches(x.mean(0), size=2, stride=2))
    filters = vectors(4, 12).view(4, 3, 2, 2)
    convolved = torch.nn.functional.conv2d(x.mean(0, keepdim=True), filters, stride=2)
    assert torch.allclose(rows @ filters.flatten(1).T, convolved[0].flatten(1).T)


def test_geometric_schedule() -> None:
    assert geometric((1.0, 1e-4), 0.0) == 1.0
    assert geometric((1.0, 1e-4), 0.5) == pytest.approx(1e-2)
    assert geometric((10.0, 1e-3), 1.0) == pytest.approx(1e-3)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_mean_map_is_the_mean(layout) -> None:
    x = torch.randn(7, 3, 5, 6, dtype=torch.float64).contiguous(memory_format=layout)
    assert torch.allclose(mean_map(x), x.mean(0, keepdim=True), atol=1e-15)
