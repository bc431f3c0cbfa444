"""AA, MRR, BWT and FM from the accuracy matrix.

Row t of the matrix is measured after task t, column i is task i: `matrix[t][i]` is the paper's
acc_{i,t}. A row that was not measured is `None` (joint training has only the last one); what
needs it is then `None` too.
"""

from collections.abc import Sequence

Row = Sequence[float] | None
Matrix = Sequence[Row]


def average_accuracy(matrix: Matrix) -> float | None:
    """AA: mean over tasks of acc_{i,N}, after the last task."""
    last = matrix[-1]
    return None if last is None else sum(last) / len(last)


def average_accuracy_so_far(matrix: Matrix) -> list[float | None]:
    """After each task t, the mean accuracy of the tasks learnt so far (Figure 3)."""
    return [None if row is None else sum(row[: t + 1]) / (t + 1) for t, row in enumerate(matrix)]


def memory_retention(matrix: Matrix) -> float | None:
    """MRR: mean over i < N of acc_{i,N} / acc_{i,max}, the maximum over task ends t ≥ i.

    0/0 counts as 0: nothing was learnt, so nothing is retained.
    """
    rows = _complete(matrix)
    if rows is None or len(rows) < 2:
        return None
    ratios = []
    for i in range(len(rows) - 1):
        best = max(row[i] for row in rows[i:])
        ratios.append(rows[-1][i] / best if best > 0 else 0.0)
    return sum(ratios) / len(ratios)


def backward_transfer(matrix: Matrix) -> float | None:
    """BWT: mean over i < N of acc_{i,N} − acc_{i,i}."""
    rows = _complete(matrix)
    if rows is None or len(rows) < 2:
        return None
    changes = [rows[-1][i] - rows[i][i] for i in range(len(rows) - 1)]
    return sum(changes) / len(changes)


def forgetting(matrix: Matrix) -> float | None:
    """FM: mean over i < N of max_{i ≤ t < N} acc_{i,t} − acc_{i,N}."""
    rows = _complete(matrix)
    if rows is None or len(rows) < 2:
        return None
    losses = [max(row[i] for row in rows[i:-1]) - rows[-1][i] for i in range(len(rows) - 1)]
    return sum(losses) / len(losses)


def plasticity(matrix: Matrix) -> float | None:
    """Mean of acc_{i,i}: MRR alone looks good for a net that never learns."""
    rows = _complete(matrix)
    return None if rows is None else sum(row[i] for i, row in enumerate(rows)) / len(rows)


def all_metrics(matrix: Matrix) -> dict[str, float | None]:
    """The `metrics` of a record."""
    return {
        "AA": average_accuracy(matrix),
        "MRR": memory_retention(matrix),
        "BWT": backward_transfer(matrix),
        "FM": forgetting(matrix),
        "plasticity": plasticity(matrix),
    }


def _complete(matrix: Matrix) -> list[Sequence[float]] | None:
    rows = [row for row in matrix if row is not None]
    return rows if len(rows) == len(matrix) else None
