"""Our optimisers are torch's, bit for bit, and start without torch's compiler."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from eowm.methods.optimisers import SGD, Adam

PAIRS = {
    "sgd": (lambda p: SGD(p, 0.1, 0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "sgd-plain": (lambda p: SGD(p, 0.1, 0.0), lambda p: torch.optim.SGD(p, 0.1)),
    "adam": (lambda p: Adam(p, 1e-3), lambda p: torch.optim.Adam(p, 1e-3)),
    "adam-fused": (
        lambda p: Adam(p, 1e-3, (0.5, 0.999), fused=True),
        lambda p: torch.optim.Adam(p, 1e-3, betas=(0.5, 0.999), fused=True),
    ),
}


def train(net: nn.Module, optimiser, steps: range) -> None:
    for step in steps:
        x = torch.randn(8, 5, generator=torch.Generator().manual_seed(step))
        optimiser.zero_grad()
        used = net[:2] if step % 3 == 0 else net  # the last layer has no gradient at times
        used(x).square().sum().backward()
        optimiser.step()


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))


@pytest.mark.parametrize("name", PAIRS)
def test_same_bits_as_torch_also_when_interrupted(name):
    ours, theirs = PAIRS[name]
    expected = network()
    train(expected, theirs(expected.parameters()), range(20))

    net = network()
    first = ours(net.parameters())
    train(net, first, range(7))
    second = ours(net.parameters())
    second.load_state_dict(first.state_dict())
    train(net, second, range(7, 20))

    for a, b in zip(net.parameters(), expected.parameters(), strict=True):
        assert torch.equal(a, b)


def test_state_of_another_network_is_refused():
    with pytest.raises(ValueError, match="another network"):
        SGD(network().parameters(), 0.1, 0.9).load_state_dict({"velocity": [None]})


@pytest.mark.slow
def test_no_method_loads_the_compiler():
    """It would take longer to start than a quick run trains."""
    code = """
import sys
import golden
config = golden.load_config()
for method in golden.known_methods():
    golden.outcome(next(iter(golden.settings_of(config, method).values())))
    loaded = [name for name in sys.modules if name.startswith(("torch._dynamo", "sympy"))]
    assert not loaded, f"{method}: {len(loaded)} modules"
"""
    golden = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=golden, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
