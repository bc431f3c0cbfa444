import io

from rich.console import Console

from eowm.data import progress
from eowm.data.progress import Reporter


def test_a_log_gets_plain_lines(monkeypatch):
    monkeypatch.setattr(progress, "LOG_SECONDS", -1.0)
    log = io.StringIO()
    with Reporter(Console(file=log, width=40)).step(
        "mnist: a [step] of many words in a log", 4
    ) as on:
        on(1)
        on(1)
    assert log.getvalue().splitlines() == [
        "mnist: a [step] of many words in a log …",
        "mnist: a [step] of many words in a log: 25%",
        "mnist: a [step] of many words in a log: 50%",
    ]


def test_a_terminal_gets_a_bar():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    for total in (2, None):
        with Reporter(console).step("cifar10: a step", total) as advance:
            advance(1)
    assert "cifar10: a step" in screen.getvalue()
    assert "━" in screen.getvalue()
    assert "50%" in screen.getvalue()
