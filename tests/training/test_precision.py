"""Products in bfloat16 while a network learns: what is rounded and what is not."""

import pytest
import torch
from test_training import CASES, make_loop, outcome, same
from torch.nn import functional as F

from eowm.training.checkpoint import Checkpoint
from eowm.training.precision import Bfloat16Products, products_in


def rounded(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().double()


@pytest.fixture
def factors() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(40, 300, requires_grad=True), torch.randn(20, 300, requires_grad=True)


def test_both_factors_are_rounded_forwards_and_backwards(factors):
    x, weight = factors
    above = torch.randn(40, 20)
    with Bfloat16Products():
        y = F.linear(x, weight)
    y.backward(above)

    # The definition, in float64; results themselves are rounded once more, by at most 2⁻⁹.
    exact = {
        "y": (y.detach(), rounded(x) @ rounded(weight).T),
        "x": (x.grad, rounded(above) @ rounded(weight)),
        "weight": (weight.grad, rounded(above).T @ rounded(x)),
    }
    for name, (found, wanted) in exact.items():
        assert found.dtype == torch.float32, name
        wanted, size = wanted.detach(), float(wanted.detach().abs().max())
        assert torch.allclose(found.double(), wanted, rtol=2**-8, atol=1e-4 * size), name
    assert not torch.equal(y.detach().double(), x.double() @ weight.double().T)


def test_without_gradients_nothing_is_rounded(factors):
    """Evaluation, banks of replayed images and projectors are float32's."""
    x, weight = factors
    with torch.no_grad():
        plain = F.linear(x, weight)
        with Bfloat16Products():
            assert torch.equal(F.linear(x, weight), plain)


def test_a_convolution_keeps_its_shape_layout_and_gradient():
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(8, 16, 2, bias=False)
    x = torch.randn(4, 8, 9, 9).contiguous(memory_format=torch.channels_last)
    plain = conv(x)
    with Bfloat16Products():
        found = conv(x)
    assert found.dtype == torch.float32
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(found, plain, atol=0.05)
    found.sum().backward()
    assert conv.weight.grad.dtype == torch.float32


def first_losses(loop, precision, count=3):
    """Later ones drift apart, as they do after any small change where steps are large."""
    losses, observe = [], loop.method.observe
    loop.method.observe = lambda *batch: losses.append(observe(*batch)) or losses[-1]
    with products_in(precision):
        assert loop.run().status == "complete"
    return [float(loss) for loss in losses[:count]]


@pytest.mark.parametrize(("scenario", "method"), CASES)
def test_every_method_learns_as_with_float32(resolve, arrays, scenario, method):
    """The same first losses but for rounding, and rounding is there."""
    settings = resolve(scenario, method)
    data = arrays(settings.dataset)
    plain = first_losses(make_loop(settings, data), "float32")
    found = first_losses(make_loop(settings, data), "bfloat16")
    assert found == pytest.approx(plain, rel=0.005, abs=0.002)
    assert found != plain


def test_a_killed_run_ends_the_same_with_rounded_products(resolve, arrays, tmp_path):
    settings = resolve("cifar10-2", "pgma", epochs=2)
    data = arrays(settings.dataset)
    with products_in("bfloat16"):
        whole = outcome(make_loop(settings, data))
        checkpoint = Checkpoint(tmp_path / "run.pt", settings.hash())
        first = make_loop(settings, data, checkpoint)
        first.phases = 2
        first.run()
        assert same(whole, outcome(make_loop(settings, data, checkpoint)))
