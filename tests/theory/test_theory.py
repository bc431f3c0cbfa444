"""The measurements behind the theorems notebook, each against an independent formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eowm import nets
from eowm.algebra import textbook
from eowm.algebra.projection import Projector
from eowm.theory import cost, figure1, projectors

EXACT = 1e-9  # rounding of float64


# --- Theorem 3 and Eq. 10 ------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 5, 30])
def test_the_printed_closed_form_is_the_inverse_of_the_information(count: int) -> None:
    """Eq. 1 as printed against (I + Σ xxᵀ/α)⁻¹, for fewer and more vectors than dimensions."""
    inputs, alphas = projectors.normal(3, count, 12), torch.linspace(0.01, 1, count).double()
    expected = np.linalg.inv(np.eye(12) + (inputs.T / alphas @ inputs).numpy())
    assert np.abs(projectors.closed_form(inputs, alphas).numpy() - expected).max() < EXACT


@pytest.mark.parametrize("seed", range(5))
def test_theorem3_holds_for_random_inputs_and_regularisers(seed: int) -> None:
    result = projectors.theorem3(seed=seed)
    assert max(result.p, result.q_ort, result.p_eowm, result.projector) < EXACT
    assert result.steps > result.size


@pytest.mark.parametrize("seed", range(5))
def test_only_the_recursion_with_the_new_q_ort_is_right(seed: int) -> None:
    result = projectors.q_recursions(seed=seed)
    assert result.new < EXACT < 0.05 < result.old
    assert result.late < EXACT  # the printed one is Eq. 4 of a task ago …
    assert result.first == 0.0  # … so the second task is learnt with Q = 0


def test_the_right_q_by_hand() -> None:
    """One weight vector w: Q = wwᵀ/(β + wᵀw) by Eq. 4, where the printed recursion says 0."""
    w, beta = torch.tensor([[3.0, 4.0]], dtype=torch.float64), 0.5
    before, after = projectors.recursion(w, torch.tensor([beta]))
    expected = torch.tensor([[9.0, 12.0], [12.0, 16.0]], dtype=torch.float64) / 25.5
    assert (torch.eye(2) - after - expected).abs().max() < EXACT
    assert (torch.eye(2) - before).abs().max() == 0


# --- Theorem 4 -----------------------------------------------------------------------------


def test_both_forms_give_the_same_gradients_over_several_flushes() -> None:
    published, ours = cost.PublishedForm(30, 7, 5), cost.OurForm(30, 7, 5)
    for _ in range(3 * ours.cycle):
        assert (published.step() - ours.step()).abs().max() < EXACT


def test_the_counted_cost_of_the_widest_layer_of_the_paper() -> None:
    """fc1 of the CIFAR-100 network: d³ = 550 G against 2 B d² = 13.4 G."""
    counts = cost.operations(width=8192, batch=100, outputs=1000)
    assert counts["published"] == pytest.approx(8192**3, rel=0.15)
    assert counts["ours"] == pytest.approx(2 * 100 * 8192**2, rel=0.1)
    assert counts["claimed"] > 800 * counts["published"]


def test_counted_slopes_are_three_and_two() -> None:
    widths = (2**14, 2**15, 2**16)
    counts = [cost.operations(width, 100, 100) for width in widths]
    slopes = {form: cost.slope(widths, [count[form] for count in counts]) for form in counts[0]}
    assert slopes["claimed"] == pytest.approx(3)
    assert slopes["published"] == pytest.approx(3, abs=0.02)
    assert slopes["ours"] == pytest.approx(2, abs=0.02)


def test_theorem4_measures_every_width_and_restores_the_threads() -> None:
    """No bound on a time: another load on the machine must not fail a test."""
    threads = torch.get_num_threads()
    spent = cost.theorem4((16, 32, 64), batch=4, outputs=3, repeats=1)
    assert torch.get_num_threads() == threads
    assert spent.difference < EXACT
    assert len(spent.published) == len(spent.ours) == 3
    assert min(*spent.published, *spent.ours, spent.outputs_ratio) > 0
    assert 1 < spent.counted_ratio < spent.more_outputs / spent.outputs == 8


# --- Theorem 5 -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    c1=st.floats(1e-6, 1),
    c2=st.floats(0, 1),
    inputs=st.integers(1, 14),
    weights=st.integers(1, 14),
    similar=st.booleans(),
    seed=st.integers(0, 100),
)
def test_eowm_has_the_rank_of_owm(
    c1: float, c2: float, inputs: int, weights: int, similar: bool, seed: int
) -> None:
    """For every c1 > 0, whether or not c1 + c2 = 1; ranks of numpy's singular values."""
    p = projectors.hard_projector(projectors.normal(seed, inputs, 15))
    q_ort = projectors.hard_projector(projectors.normal(seed + 1, weights, 15))
    row = projectors.rank(p, q_ort, c1, c2, similar)
    q = (torch.eye(15) - q_ort if similar else q_ort).numpy()
    eowm = p.numpy() @ (c1 * np.eye(15) + c2 * q)
    assert row.owm == 15 - inputs
    assert row.eowm == row.owm == int((np.linalg.svd(eowm, compute_uv=False) > 1e-9).sum())
    assert row.eowm <= row.bound

    eigenvalues = np.linalg.eigvalsh(c1 * np.eye(15) + c2 * q)  # the argument's first line
    assert eigenvalues.min() > c1 - EXACT
    assert eigenvalues.max() < c1 + c2 + EXACT


def test_the_rank_falls_only_without_c1() -> None:
    rows = projectors.theorem5(c2s=(0.5, 1.0))
    assert [row.eowm - row.owm for row in rows if row.c1 > 0] == [0, 0]
    similar = next(row for row in rows if row.similar and row.c1 == 0)
    assert similar.eowm == 20  # rank(P Q): as many as weights
    assert all(row.bound > row.owm for row in rows)


# --- the order of P and Q, and the start of Q_ort --------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_stored_inputs_are_protected_only_if_p_acts_last(seed: int) -> None:
    rows = projectors.leaks(seed=seed)
    assert max(row.p_last for row in rows) < 1e-6
    for row in rows:
        if row.c2 == 0:
            assert row.q_last == pytest.approx(row.p_last)
        else:  # in proportion to c2
            assert row.q_last > 0.01 * row.c2
            assert row.q_last / row.c2 == pytest.approx(rows[-1].q_last, rel=1e-6)


def test_a_start_at_one_over_beta_turns_small_betas_into_ascent() -> None:
    for row in projectors.initial_beta():
        assert row.q == pytest.approx(1 - 1 / row.beta)
        assert row.smallest == pytest.approx(1 - row.c2 / row.beta, abs=EXACT)
        if abs(row.beta - row.c2) > EXACT:  # there it is zero
            assert (row.smallest < 0) == (row.beta < row.c2)
        if row.smallest > EXACT:
            assert row.uphill == 0
    worst = projectors.initial_beta(betas=(0.01,), c2s=(0.1,))[0]
    assert worst.uphill == 1


# --- Figure 1 ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[True, False], ids=["similar", "dissimilar"])
def case(request: pytest.FixtureRequest) -> figure1.Case:
    return figure1.learn(request.param)


def test_the_gradient_is_that_of_the_loss(case: figure1.Case) -> None:
    w = projectors.normal(5, *case.w_a.shape).requires_grad_()
    (expected,) = torch.autograd.grad(case.a.loss(w), w)
    everything = torch.arange(len(case.a.x))
    assert (case.a.gradient(w.detach(), everything) - expected).abs().max() < EXACT


def test_a_small_alpha_comes_near_the_hard_projector() -> None:
    inputs, projector = projectors.normal(0, 6, 15), Projector(15)
    projector.update(inputs, 1e-12)
    assert (projector.matrix - projectors.hard_projector(inputs)).abs().max() < EXACT


def test_the_optima_are_optima(case: figure1.Case) -> None:
    rows = torch.arange(len(case.a.x))
    of_a, of_b = case.a.gradient(case.w_a, rows), case.b.gradient(case.w_b, rows)
    both = case.a.gradient(case.w_ab, rows) + case.b.gradient(case.w_ab, rows)
    assert max(float(gradient.norm()) for gradient in (of_a, of_b, both)) < 1e-6


def test_the_same_seed_gives_the_same_walks(case: figure1.Case) -> None:
    again, other = figure1.learn(case.similar), figure1.learn(case.similar, seed=1)
    for walk, same, different in zip(case.walks, again.walks, other.walks, strict=True):
        assert torch.equal(walk.weights, same.weights)
        assert not torch.equal(walk.weights, different.weights)
        assert torch.equal(walk.weights[0], case.w_a)


def test_eowm_without_q_is_owm(case: figure1.Case) -> None:
    without = figure1.learn(case.similar, c2s=(0.0,))
    assert torch.equal(without.walks[-1].weights, without.walks[1].weights)


@pytest.mark.parametrize("similar", [True, False])
def test_the_enhanced_projection_is_equation_7_with_p_last(similar: bool) -> None:
    p, q_ort = Projector(9), Projector(9)
    p.update(projectors.normal(0, 4, 9), 0.1)
    q_ort.update(projectors.normal(1, 3, 9), 0.2)
    gradient = projectors.normal(2, 5, 9)
    matrix = textbook.eowm_projector(p.matrix, q_ort.matrix, 0.7, 0.3, similar)
    projected = figure1.enhanced(p, q_ort, 0.3, similar)(gradient)
    assert (projected - gradient @ matrix.T).abs().max() < EXACT
    assert torch.linalg.svdvals(matrix).min() > 1e-3  # a step is zero only where the gradient is


def test_the_plane_holds_the_optima(case: figure1.Case) -> None:
    plane = figure1.Plane(case)
    optima = torch.stack([case.w_a, case.w_b, case.w_ab])
    spots = plane.coordinates(optima)
    assert (spots[:2] - torch.tensor([[0.0, 0.0], [1.0, 0.0]])).abs().max() < EXACT
    assert spots[2, 1] > 0
    assert plane.outside(optima).max() < EXACT
    assert (plane.weights(spots) - optima).abs().max() < EXACT


def test_what_is_out_of_the_plane_is_reported(case: figure1.Case) -> None:
    plane = figure1.Plane(case)
    across = projectors.normal(7, *case.w_a.shape)
    across = across - (plane.weights(plane.coordinates(case.w_a + across)) - case.w_a)
    within = case.w_b - case.w_a
    moved = case.w_a + 3 * within / within.norm() + 4 * across / across.norm()
    outside = plane.outside(torch.stack([case.w_a, moved, case.w_b]))
    assert outside.tolist() == pytest.approx([0, 4 / 5, 0])


def test_the_landscape_is_made_of_the_losses(case: figure1.Case) -> None:
    drawn = figure1.landscape(case, points=9)
    w = figure1.Plane(case).weights(torch.tensor([drawn.x[2], drawn.y[6]], dtype=torch.float64))
    assert drawn.losses["A"][6, 2] == pytest.approx(float(case.a.loss(w)))
    assert drawn.losses["B"][6, 2] == pytest.approx(float(case.b.loss(w)))
    assert drawn.losses["AB"][6, 2] == pytest.approx(float(case.a.loss(w) + case.b.loss(w)) / 2)
    assert drawn.levels["A"][3] == pytest.approx(float(case.a.loss(case.w_b)))  # (4/4)²
    for line in drawn.lines:
        assert (line.points >= [drawn.x[0], drawn.y[0]]).all()
        assert (line.points <= [drawn.x[-1], drawn.y[-1]]).all()


def test_ends_are_distances_of_the_last_weights(case: figure1.Case) -> None:
    by_method = {(end.method, end.c2): end for end in figure1.ends(case)}
    assert by_method["owm", None].from_owm == 0
    sgd = by_method["finetune", None]
    last = case.walks[0].weights[-1]
    assert sgd.to_b * case.unit == pytest.approx(float(torch.dist(last, case.w_b)))
    assert sgd.to_b < sgd.to_ab  # plain SGD does go to the optimum of B
    assert sgd.loss_a == pytest.approx(float(case.a.loss(last)))


def test_the_mean_weight_of_a_softmax_layer_never_moves(case: figure1.Case) -> None:
    """Here, and for the output layer of the paper's network by autograd."""
    assert case.mean_weight < EXACT
    net = nets.MLP(784, (20,), 10, dropout=0.0)
    loss = torch.nn.functional.cross_entropy(net(torch.rand(8, 1, 28, 28)), torch.arange(8))
    *_, (_, output) = nets.layers(net)
    (gradient,) = torch.autograd.grad(loss, output.weight)
    assert gradient.mean(0).abs().max() < 1e-6 * gradient.abs().max()
