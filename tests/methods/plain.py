"""OWM and EOWM as published: gradient · P, explicit products, loops of rank-1 updates. Slow."""

import torch
from torch.nn import functional as F

from eowm import nets, reference
from eowm.projection import geometric


class PlainEOWM:
    """One SGD step in the published formulation; without Q where `coefficients` is None."""

    def __init__(self, net, settings, coefficients=None, case=None) -> None:
        self.net, self.settings = net, settings
        self.coefficients, self.case = coefficients, case
        sizes = {name: layer.weight[0].numel() for name, layer in nets.layers(net)}
        self.p = {name: torch.eye(size, dtype=torch.float64) for name, size in sizes.items()}
        self.q_ort = {name: torch.eye(size, dtype=torch.float64) for name, size in sizes.items()}
        self.velocity: dict = {}

    def step(self, x, y, progress: float) -> None:
        self.net.train()
        training = self.settings.training
        projected = self._projected_gradients(x, y, progress)
        if training.clip_norm:
            norm = torch.sqrt(sum((g**2).sum() for g in projected.values()))
            factor = min(1.0, training.clip_norm / (norm.item() + 1e-6))
            projected = {name: g * factor for name, g in projected.items()}
        with torch.no_grad():
            for name, layer in nets.layers(self.net):
                before = self.velocity.get(name, 0)
                self.velocity[name] = training.momentum * before + projected[name]
                layer.weight -= training.learning_rate * self.velocity[name]

    def _projected_gradients(self, x, y, progress: float) -> dict:
        inputs, gradients = self._inputs_and_gradients(x, y)
        projected = {}
        for name, layer in nets.layers(self.net):
            self._update_p(name, inputs[name], progress)
            matrix = self.p[name]
            if self.coefficients:
                self._update_q(name, layer, progress)
                similar = self.case(name)
                c1 = self.coefficients.c1(progress)
                c2 = self.coefficients.c2(progress, similar)
                matrix = reference.eowm_projector(matrix, self.q_ort[name], c1, c2, similar)
            flat = gradients[name].double().flatten(1) @ matrix.T
            projected[name] = flat.view_as(gradients[name]).float()
        return projected

    def _inputs_and_gradients(self, x, y) -> tuple[dict, dict]:
        inputs: dict = {}
        hooks = [
            layer.register_forward_hook(lambda _, a, __, n=name: inputs.update({n: a[0].detach()}))
            for name, layer in nets.layers(self.net)
        ]
        weights = {name: layer.weight for name, layer in nets.layers(self.net)}
        loss = F.cross_entropy(self.net(x), y)
        loss = loss + self.settings.training.norm_penalty * sum(w.norm() for w in weights.values())
        gradients = torch.autograd.grad(loss, list(weights.values()))
        for hook in hooks:
            hook.remove()
        return inputs, dict(zip(weights, gradients, strict=True))

    def _update_p(self, name: str, x, progress: float) -> None:
        mean = x.double().mean(0)
        rows = reference.stride_patches(mean, 2, 2) if "conv" in name else mean[None]
        for row in rows:
            self.p[name] = reference.owm_recursion(
                self.p[name], row, self._at("alpha", name, progress)
            )

    def _update_q(self, name: str, layer, progress: float) -> None:
        weight = layer.weight.detach().double().flatten(1)
        for row in weight if "conv" in name else weight.mean(0)[None]:
            beta = self._at("beta", name, progress)
            self.q_ort[name] = reference.owm_recursion(self.q_ort[name], row, beta)

    def _at(self, option: str, name: str, progress: float) -> float:
        schedules = self.settings.options[option]
        return geometric(schedules.get(name) or schedules[name[:-1]], progress)
