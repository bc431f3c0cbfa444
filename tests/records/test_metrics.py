"""Hand-worked cases; `matrix[t][i]` is the accuracy on task i after task t."""

import pytest

from eowm.records import metrics

MATRIX = [[0.9, 0.1, 0.0], [0.6, 0.8, 0.2], [0.3, 0.4, 1.0]]


def test_three_tasks_by_hand() -> None:
    found = metrics.all_metrics(MATRIX)
    assert found["AA"] == pytest.approx((0.3 + 0.4 + 1.0) / 3)
    assert found["MRR"] == pytest.approx((0.3 / 0.9 + 0.4 / 0.8) / 2)
    assert found["BWT"] == pytest.approx(((0.3 - 0.9) + (0.4 - 0.8)) / 2)
    assert found["FM"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["plasticity"] == pytest.approx((0.9 + 0.8 + 1.0) / 3)


def test_the_maximum_may_come_after_the_task_itself() -> None:
    matrix = [[0.5, 0.0, 0.0], [0.8, 0.7, 0.0], [0.4, 0.7, 0.9]]
    assert metrics.memory_retention(matrix) == pytest.approx((0.4 / 0.8 + 1.0) / 2)
    assert metrics.forgetting(matrix) == pytest.approx((0.4 + 0.0) / 2)
    assert metrics.backward_transfer(matrix) == pytest.approx((-0.1 + 0.0) / 2)


def test_accuracy_before_a_task_is_learnt_does_not_count() -> None:
    """And where nothing is learnt, nothing is retained."""
    assert metrics.memory_retention([[0.5, 0.9], [0.5, 0.3]]) == 1.0
    assert metrics.memory_retention([[0.0, 0.0], [0.0, 0.5]]) == 0.0


def test_published_log_of_owm_on_cifar10() -> None:
    """Diagonal and last row of the log that OWM's authors published: BWT −0.252, MRR 0.672."""
    diagonal = [0.9500, 0.7520, 0.6330, 0.6720, 0.6410]
    last = [0.5920, 0.4135, 0.3945, 0.6005, 0.6410]
    matrix = [[0.0] * 5 for _ in range(5)]
    for i, value in enumerate(diagonal):
        matrix[i][i] = value
    matrix[-1] = last
    assert metrics.average_accuracy(matrix) == pytest.approx(0.5283, abs=5e-5)
    assert metrics.backward_transfer(matrix) == pytest.approx(-0.252, abs=5e-4)
    assert metrics.memory_retention(matrix) == pytest.approx(0.672, abs=5e-4)


def test_joint_training_has_only_a_last_row() -> None:
    found = metrics.all_metrics([None, None, [0.7, 0.8, 0.9]])
    assert found["AA"] == pytest.approx(0.8)
    assert [found[name] for name in ("MRR", "BWT", "FM", "plasticity")] == [None] * 4


def test_average_so_far_ignores_future_tasks() -> None:
    assert metrics.average_accuracy_so_far(MATRIX) == pytest.approx([0.9, 0.7, 1.7 / 3])
    assert metrics.average_accuracy_so_far([None, [0.2, 0.4]])[0] is None
