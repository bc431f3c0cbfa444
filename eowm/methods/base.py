"""The contract between the training loop and a method.

The loop calls `begin_task(task)` → `observe(x, y, progress)` for every batch → `end_task(task)`;
`predict(x)` for evaluation; `state_dict()` and `load_state_dict()` hold everything needed to
continue bit for bit. The base class is plain SGD; most methods override one hook of it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from eowm.data.streams import Task
from eowm.methods.optimisers import SGD, Optimiser
from eowm.nets.classifier import layers
from eowm.settings.run import RunSettings


class Method:
    pools_tasks: ClassVar[bool] = False  # True: learn all tasks at once (joint training)

    def __init__(self, net: nn.Module, settings: RunSettings) -> None:
        self.net = net
        self.training = settings.training
        self.options = settings.typed_options()
        self.weights = [layer.weight for _, layer in layers(net)]
        self.parameters = list(net.parameters())  # a resnet18 has others besides its weights
        self.optimiser = self._new_optimiser()

    # --- what the loop calls ---------------------------------------------------------------

    def begin_task(self, task: Task) -> None:
        """Momentum does not carry over from one task to the next."""
        self.optimiser = self._new_optimiser()

    def observe(self, x: Tensor, y: Tensor, progress: float) -> Tensor:
        """Learn from one batch; `progress` ∈ [0, 1) is the fraction of the task that is done."""
        self.net.train()
        self.optimiser.zero_grad()
        loss = self.objective(self.net(x), x, y)
        loss.backward()
        self.adjust_gradients(progress)
        if self.training.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.training.clip_norm)
        self.optimiser.step()
        return loss.detach()

    def end_task(self, task: Task) -> None:
        """Consolidate what was learnt."""

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        """Logits over all classes: a single head, nothing masked."""
        self.net.eval()
        return self.net(x)

    def state_dict(self) -> dict[str, Any]:
        """All that a run needs to go on bit for bit: tensors and plain Python types, nothing else.
        It comes back on the CPU. Random numbers need no state: torch is seeded for every epoch."""
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])

    # --- what a method may override --------------------------------------------------------

    def objective(self, logits: Tensor, x: Tensor, y: Tensor) -> Tensor:
        """What a step lowers, from the logits of the batch; a method may add terms to it."""
        loss = F.cross_entropy(logits, y)
        if self.training.norm_penalty:
            norms = sum(weight.norm() for weight in self.weights)
            loss = loss + self.training.norm_penalty * norms
        return loss

    def adjust_gradients(self, progress: float) -> None:
        """Change `weight.grad` after the backward pass and before clipping and the step."""

    def _new_optimiser(self) -> Optimiser:
        return SGD(self.parameters, self.training.learning_rate, self.training.momentum)


class Tap:
    """Keeps a layer's latest input x and, after a backward pass, the gradient δ of its output.

    They are all that a gradient is made of: G = δᵀx.
    """

    def __init__(self, layer: nn.Module) -> None:
        self.x: Tensor
        self.delta: Tensor
        layer.register_forward_hook(self._forward)

    def _forward(self, layer: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> None:
        self.x = args[0].detach()
        if torch.is_grad_enabled():
            output.requires_grad_()  # also where neither input nor weight asks for a gradient
            output.register_hook(self._backward)

    def _backward(self, gradient: Tensor) -> None:
        self.delta = gradient

    def conv_gradients(self, layer: nn.Conv2d) -> Tensor:
        """The weight gradient of each image of the batch, (images, filters, channels, 2, 2)."""
        patches = F.unfold(self.x, layer.kernel_size)  # (images, fan-in, places)
        gradients = self.delta.flatten(2) @ patches.transpose(1, 2)
        return gradients.view(-1, *layer.weight.shape)


@contextmanager
def output_gradients(
    net: nn.Module, x: Tensor
) -> Iterator[tuple[Tensor, Callable[[Tensor], None]]]:
    """Logits in evaluation mode, and a function that sends one number an image back through the
    net. The taps of its layers then hold the δ of every image apart; no weight gradient is formed.
    """
    learning = [weight for weight in net.parameters() if weight.requires_grad]
    for weight in learning:
        weight.requires_grad_(False)
    net.eval()
    try:
        with torch.enable_grad():
            yield net(x), lambda values: values.sum().backward(retain_graph=True)
    finally:
        for weight in learning:
            weight.requires_grad_(True)
