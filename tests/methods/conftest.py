import pytest
from steps import network

from eowm import methods
from eowm.data import streams


@pytest.fixture(scope="session")
def learner(resolve, arrays):
    """`learner("cifar10-5", "owm", epochs=1)`: the method, its stream and its settings."""

    def make(scenario: str, row: str, **overrides):
        settings = resolve(scenario, row, **overrides)
        stream = streams.build(settings, arrays(settings.dataset))
        net = network(settings, stream)
        return methods.find(settings.method)(net, settings), stream, settings

    return make
