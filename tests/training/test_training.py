"""The loop: exact repetition, exact continuation, selection, and what a record holds."""

import copy
import errno
import os
import subprocess
from types import SimpleNamespace

import pytest
import torch

from eowm import methods, nets, paths
from eowm.data import streams
from eowm.errors import CheckpointError
from eowm.settings.config import load_config
from eowm.training import checkpoint
from eowm.training.checkpoint import Checkpoint
from eowm.training.loop import Loop, evaluate, seed_everything
from eowm.training.progress import Reporter
from eowm.training.run import environment, environments

METHODS = load_config(paths.CHECKOUT / "config.yaml").methods  # also one that you add
SCENARIOS = ("shuffled-mnist-3", "cifar10-2")
CASES = [(scenario, method) for method in METHODS for scenario in SCENARIOS]


class Stopped(Exception):
    """Raised in place of a power cut."""


def make_loop(settings, data, checkpoint=None) -> Loop:
    stream = streams.build(settings, data)
    seed_everything(settings.seed)
    net = nets.build(settings.net, stream.image_shape, stream.classes)
    reporter = Reporter("test", settings.tasks, settings.training.epochs, quiet=True)
    return Loop(
        methods.find(settings.method)(net, settings), stream, settings, reporter, checkpoint
    )


def outcome(loop: Loop):
    state = loop.run()
    weights = {k: v.clone() for k, v in loop.method.net.state_dict().items()}
    measured = (state.accuracy, state.validation, state.curves, state.best_epoch_accuracy)
    return *measured, state.task_known, weights


def same(first, second) -> bool:
    *measured, weights = first
    *others, other_weights = second
    return measured == others and all(torch.equal(weights[k], other_weights[k]) for k in weights)


def test_another_seed_is_another_run(resolve, arrays) -> None:
    """The next test has the same seed twice, for every method."""
    runs = [resolve("shuffled-mnist-3", "finetune", seed=seed) for seed in (0, 1)]
    assert not same(*(outcome(make_loop(settings, arrays("mnist"))) for settings in runs))


@pytest.mark.parametrize(("scenario", "method"), CASES)
@pytest.mark.parametrize("selection", ["last", "validation"])
def test_an_interrupted_run_ends_the_same(
    resolve, arrays, tmp_path, scenario, method, selection
) -> None:
    """Stopped in the middle of every epoch in turn, then continued: the same, bit for bit."""
    settings = resolve(scenario, method, selection=selection)
    data = arrays(settings.dataset)
    expected = outcome(make_loop(settings, data))
    path, epochs, stops = tmp_path / "run.pt", len(expected[2]), 0
    while True:
        loop = make_loop(settings, data, Checkpoint(path, settings.hash()))
        steps, observe = [0], loop.method.observe
        limit = 1.5 * loop._steps_per_epoch(loop.stream.task(0))

        def stop_later(*args, steps=steps, observe=observe, limit=limit):
            steps[0] += 1
            if steps[0] > limit:
                raise Stopped
            return observe(*args)

        loop.method.observe = stop_later if stops < epochs else observe
        try:
            result = outcome(loop)
            break
        except Stopped:
            stops += 1
    assert stops > 0
    assert same(expected, result)


def test_a_checkpoint_of_other_settings_is_not_used(resolve, arrays, tmp_path) -> None:
    data, path = arrays("mnist"), tmp_path / "run.pt"
    first = resolve("shuffled-mnist-3", "owm")
    make_loop(first, data, Checkpoint(path, first.hash())).run()
    assert path.exists()
    other = resolve("shuffled-mnist-3", "owm", learning_rate=0.5)
    loop = make_loop(other, data, Checkpoint(path, other.hash()))
    assert loop.run().interruptions == 0


def test_a_run_that_goes_on_with_other_code_keeps_what_it_began_with(
    resolve, arrays, tmp_path, eager
) -> None:
    settings, path = resolve("shuffled-mnist-3", "finetune"), tmp_path / "run.pt"
    begun = environment(torch.device("cpu")) | {"commit": "a", "threads": 1}
    gone_on = begun | {"commit": "b", "threads": 2}
    both = gone_on | {"earlier": [begun]}
    for found, kept in ((begun, begun), (begun, begun), (gone_on, both)):
        loop = make_loop(settings, arrays("mnist"), Checkpoint(path, settings.hash()))
        loop.environment = found
        assert environments(loop.run().made_with) == kept


def test_a_record_names_code_that_no_commit_holds(tmp_path, monkeypatch) -> None:
    """A `+` for a file that is changed or new, and another checksum for every edit."""
    package = tmp_path / "eowm"
    package.mkdir()
    (package / "a.py").write_text("a = 1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(paths, "PACKAGE", package)

    def found() -> tuple[bool, str]:
        made_with = environment(torch.device("cpu"))
        return made_with["commit"].endswith("+"), made_with["code"]

    committed, codes = found(), []
    for number in (1, 2):
        (package / "b.py").write_text(f"b = {number}")
        dirty, code = found()
        assert dirty
        codes.append(code)
    assert len({committed[1], *codes}) == 3
    (package / "b.py").unlink()
    assert found() == committed == (False, committed[1])


@pytest.fixture
def eager(monkeypatch) -> None:
    """A checkpoint after every epoch, however long that takes."""
    monkeypatch.setattr(checkpoint, "WRITE_SHARE", 1e9)


@pytest.fixture
def saved(resolve, arrays, tmp_path, eager):
    """A finished run with its last two checkpoints, and what it ended in."""
    settings, path = resolve("shuffled-mnist-3", "finetune"), tmp_path / "run.pt"
    expected = outcome(make_loop(settings, arrays("mnist"), Checkpoint(path, settings.hash())))

    def again(tell=print):
        return make_loop(settings, arrays("mnist"), Checkpoint(path, settings.hash(), tell))

    return path, expected, again


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-99] + bytes([content[-99] ^ 1]) + content[-98:],
        lambda content: b"",
        lambda content: b"not a checkpoint",
    ],
)
def test_after_a_damaged_checkpoint_the_one_before_is_used(saved, damage) -> None:
    path, expected, again = saved
    previous = paths.previous(path)
    good = previous.read_bytes()
    for file in (path, previous):
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(CheckpointError, match=r"run\.pt .*run\.previous\.pt .*is damaged; delete"):
        again().run()
    previous.write_bytes(good)
    told: list[str] = []
    loop = again(told.append)
    assert same(expected, outcome(loop))
    assert loop.state.interruptions == 1
    assert "run.pt (" in told[0]
    assert "resuming from the previous checkpoint" in told[0]


def test_a_checkpoint_of_other_code_is_named(saved) -> None:
    *_, again = saved
    loop = again()
    state = loop.checkpoint.load()
    state["method"].pop("optimiser")
    loop.checkpoint.save(state)
    with pytest.raises(CheckpointError, match=r"run\.pt does not fit this code"):
        again().run()


def test_a_checkpoint_with_foreign_code_is_refused(resolve, tmp_path) -> None:
    """Loaded with weights_only: a pickle that would run code is not executed."""
    path = tmp_path / "run.pt"
    Checkpoint(path, "x").save({"surprise": Reporter})
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint(path, "x").load()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_or_read_only_disk_is_one_sentence(tmp_path, monkeypatch, code) -> None:
    def full(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("eowm.training.checkpoint.torch.save", full)
    with pytest.raises(CheckpointError, match=rf"run\.pt: {os.strerror(code)}; free some space"):
        Checkpoint(tmp_path / "run.pt", "x").save({})
    assert list(tmp_path.iterdir()) == []


def test_matrix_is_complete_and_curves_cover_every_epoch(resolve, arrays) -> None:
    settings = resolve("cifar10-5", "finetune")
    state = make_loop(settings, arrays("cifar10")).run()
    assert [len(row) for row in state.accuracy] == [5] * 5
    assert [(p["task"], p["epoch"]) for p in state.curves] == [
        (t, e) for t in range(1, 6) for e in range(1, settings.training.epochs + 1)
    ]
    last = [p for p in state.curves if p["epoch"] == settings.training.epochs]
    for t, point in enumerate(last):
        assert point["test_current"] == state.accuracy[t][t]
    assert all(best >= state.accuracy[-1][i] for i, best in enumerate(state.best_epoch_accuracy))


def test_with_the_task_known_only_its_classes_are_possible_answers() -> None:
    images = torch.eye(4)[:, None, None]  # image k is a one in place k
    split = streams.Split(images, torch.tensor([2, 2, 3, 3]), lambda x: x)
    scores = torch.tensor(  # of four classes, for each image
        [[9.0, 0, 2, 1], [0, 9.0, 1, 2], [0, 0, 1, 2], [9.0, 9, 2, 1]]
    )
    method = SimpleNamespace(predict=lambda x: x.flatten(1) @ scores)
    assert evaluate(method, [split, split]) == [0.25, 0.25]
    # Among 2 and 3: right, wrong, right, wrong; among 1, 2 and 3 the last two errors are others.
    assert evaluate(method, [split, split], [(2, 3), (1, 2, 3)]) == [0.5, 0.5]


@pytest.mark.parametrize("method", ["finetune", "pgma", "joint"])
def test_knowing_the_task_never_hurts_on_disjoint_tasks(resolve, arrays, method) -> None:
    settings = resolve("cifar10-5", method)
    state = make_loop(settings, arrays("cifar10")).run()
    assert len(state.task_known) == len(state.accuracy) == 5
    for row, told in zip(state.accuracy, state.task_known, strict=True):
        assert (row is None) == (told is None)
        assert all(easier >= plain for easier, plain in zip(told or (), row or (), strict=True))
    assert sum(state.task_known[-1]) > sum(state.accuracy[-1])


def test_joint_training_measures_the_last_row_only(resolve, arrays) -> None:
    """And where all tasks share their classes there is nothing to tell."""
    state = make_loop(resolve("shuffled-mnist-3", "joint"), arrays("mnist")).run()
    assert state.accuracy[:2] == [None, None]
    assert len(state.accuracy[2]) == 3
    assert state.task_known is None


def spied(loop: Loop) -> list:
    """Task, validation, test and weights at every evaluation of a run."""
    seen, evaluate = [], loop._evaluate

    def spy(task, everything):
        result = evaluate(task, everything)
        weights = copy.deepcopy(loop.method.net.state_dict())
        seen.append((task.index, result[0], result[1], weights))
        return result

    loop._evaluate = spy
    return seen


def test_selection_keeps_the_best_validation_epoch(resolve, arrays) -> None:
    settings = resolve("shuffled-mnist-3", "owm", selection="validation", epochs=4)
    loop = make_loop(settings, arrays("mnist"))
    seen = spied(loop)
    loop.run()
    for t in range(3):
        history = [(sum(row[: t + 1]), weights) for task, row, _, weights in seen if task == t]
        *epochs, (kept_score, kept) = history
        assert len(epochs) == 4
        best = max(range(4), key=lambda i: epochs[i][0])
        assert kept_score == epochs[best][0]
        assert torch.equal(kept["fc1.weight"], epochs[best][1]["fc1.weight"])


def test_the_test_oracle_never_ends_below_any_epoch_it_saw(resolve, arrays) -> None:
    """All test images, one contest for the whole run, as in the published code."""
    data = arrays("cifar10")
    settings = resolve("cifar10-5", "finetune", selection="test-oracle", epochs=3)
    loop = make_loop(settings, data)
    seen = spied(loop)
    state = loop.run()
    assert sum(state.accuracy[-1]) == pytest.approx(max(sum(row) for _, _, row, _ in seen))


def test_divergence_stops_the_run_and_says_where(resolve, arrays) -> None:
    settings = resolve("shuffled-mnist-3", "finetune", learning_rate=1e30)
    state = make_loop(settings, arrays("mnist")).run()
    assert state.status.startswith("failed: diverged at task 1, epoch")
    assert state.accuracy == [None] * 3


def test_a_limit_of_images_picks_the_same_ones_in_every_epoch(resolve, arrays) -> None:
    data = arrays("mnist")

    def images(seed: int) -> list[set]:
        """Of each task and epoch, the images that were learnt from."""
        settings = resolve("shuffled-mnist-3", "finetune", seed, images_per_epoch=30, batch_size=20)
        loop = make_loop(settings, data)
        seen, observe = [], loop.method.observe
        loop.method.observe = lambda x, y, p: (seen.append(x), observe(x, y, p))[1]
        state = loop.run()
        assert [len(x) for x in seen] == [20, 10] * (3 * settings.training.epochs)
        assert state.images == 30 * 3 * settings.training.epochs
        pixels = (torch.cat(seen) * 255).round().long()
        sums = pixels.flatten(1).sum(1).view(-1, 30)  # the same for all permutations
        return [set(row.tolist()) for row in sums]

    first, again, other = images(0), images(0), images(1)
    assert first == again
    assert first[0] == first[1]
    assert first[0] != first[2]
    assert first[0] != other[0]


def test_a_last_step_that_diverges_is_seen(resolve, arrays) -> None:
    """The loss of an epoch does not see what its last step did to the weights."""
    settings = resolve("shuffled-mnist-3", "finetune", epochs=1)
    loop = make_loop(settings, arrays("mnist"))
    count, observe = [0], loop.method.observe

    def break_at_the_end(x, y, progress):
        loss = observe(x, y, progress)
        count[0] += 1
        if count[0] == 4:  # the last batch of the first epoch
            loop.method.weights[0].data[0, 0] = float("nan")
        return loss

    loop.method.observe = break_at_the_end
    state = loop.run()
    assert state.status == "failed: diverged at task 1, epoch 1"


def test_progress_runs_from_0_to_1_over_each_task(resolve, arrays) -> None:
    loop = make_loop(resolve("shuffled-mnist-3", "finetune"), arrays("mnist"))
    seen, observe = [], loop.method.observe
    loop.method.observe = lambda x, y, p: (seen.append(p), observe(x, y, p))[1]
    loop.run()
    task = seen[: len(seen) // 3]
    assert task == [i / len(task) for i in range(len(task))]
