"""Tables 2 and 3 as CSV, Markdown and LaTeX."""

import io
import shutil
import subprocess

import pandas as pd
import pytest
from made_records import GRID, fill, make_record, runs_with, store

from eowm import paper
from eowm.analysis import collect, statistics, tables
from eowm.analysis.summary import summarise
from eowm.settings.config import load_config


def summarised(folder, config, preset="paper"):
    return summarise(collect.collect(config, preset, folder), config)


@pytest.fixture
def full(tmp_path, config):
    fill(tmp_path, config, "paper")
    return summarised(tmp_path, config)


@pytest.fixture
def partial(tmp_path, config):
    """The quick preset on stand-in data, OWM not run but for one cell that failed."""
    fill(tmp_path, config, "smoke", source="standin", skip="owm")
    failed = make_record(
        config, "table2/cifar10-5/owm", preset="smoke", status="failed: loss of 50 % & more"
    )
    store(failed, tmp_path)
    return summarised(tmp_path, config, "smoke")


def test_layout_is_the_papers(full, config):
    content = tables.layout(full, config)
    assert [block.metric for block in content.blocks] == ["AA", "MRR"]
    assert content.columns[0] == ("Shuffled MNIST", "3 tasks")
    lines = [(line.title, line.reference) for line in content.blocks[0].lines]
    assert lines == [("OWM", False), ("Fine-tuning", True), ("Joint training", True)]
    for part in ("preset paper", "Seeds: 0, 1, 2.", "95 % Student t-interval", "half-width"):
        assert part in content.caption
    assert "ewc" in content.remarks[0]  # a method of the paper that this grid lacks


def test_a_cell_holds_mean_interval_n_verdict_and_the_papers_number(tmp_path, config):
    runs = runs_with(tmp_path, config, {"table2/cifar10-5/owm": [0.50, 0.52, 0.57]})
    summary = summarise(runs, config)
    content = tables.layout(summary, config)
    entry = content.blocks[0].lines[0].entries[3]
    assert (entry.ours, entry.sign, entry.paper) == ("0.5300 ± 0.0896 (3)", "=", "0.5316")
    assert content.blocks[0].lines[1].entries[3].paper == ""
    markdown, latex = tables.to_markdown(content), tables.to_latex(content)
    assert "= *paper 0.5316*" in markdown
    assert r"= \textit{0.5316}" in latex
    assert statistics.RULE in markdown
    assert tables.latex(statistics.RULE) in latex


def test_what_limits_a_number_stands_in_its_cell(partial, config):
    content = tables.layout(partial, config)
    owm, finetune, joint = content.blocks[0].lines
    assert (owm.entries[3].ours, owm.entries[0].ours) == ("failed", "not run")
    assert finetune.entries[0].line.marks == "rs"
    assert joint.entries[0].ours.endswith("(1)")
    assert content.blocks[1].lines[2].entries[0].ours == "n/a"
    assert [letter for letter, _ in content.legend] == ["r", "s", "f", "m", "u"]
    assert any("loss of 50 % & more" in remark for remark in content.remarks)


def test_our_mean_stands_beside_table_3s_value(tmp_path):
    whole, name = load_config(), "table3/shuffled-mnist-2/eowm:w2-0.10"
    assert whole.resolve(whole.cell(name), 0, "paper").options["w2"] == 0.10
    summary = summarise(runs_with(tmp_path, whole, {name: [0.90, 0.92]}), whole)
    line = summary[(summary.table == "table3") & (summary.metric == "AA") & (summary.n > 0)].iloc[0]
    published = paper.table3().set_index(["metric", "scenario", "w2"]).value
    assert line["mean"] == pytest.approx(0.91)
    assert line.paper == published["AA", "shuffled-mnist-2", 0.1]
    text = tables.to_markdown(tables.layout(summary, whole, "table3"))
    assert "w2 = 0 (OWM)" in text


def test_csv_keeps_full_precision(full):
    again = pd.read_csv(io.StringIO(tables.to_csv(full)))
    for column in ("mean", "high"):
        assert again[column].tolist() == pytest.approx(full[column].tolist(), abs=0, nan_ok=True)


def test_rows_have_equal_length(partial, config):
    content = tables.layout(partial, config)
    markdown, latex = tables.to_markdown(content), tables.to_latex(content)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {row.count(" | ") for row in rows} == {8}
    assert "<sup>r,s</sup>" in markdown
    rows = [line for line in latex.splitlines() if " & " in line and "multicolumn" not in line]
    assert len(rows) == 1 + 2 * 3
    assert {row.count(" & ") for row in rows} == {9}


def test_text_from_the_config_cannot_break_markup(tmp_path):
    config = load_config(overlay={"tables": GRID})
    method = config.methods["owm"].model_copy(update={"title": "A|B_1 & 100% <b>$x$</b>"})
    config = config.model_copy(update={"methods": {**config.methods, "owm": method}})
    content = tables.layout(summarised(tmp_path, config), config)
    assert r"A\|B\_1 &amp; 100% &lt;b&gt;" in tables.to_markdown(content)
    assert r"A|B\_1 \& 100\% \textless{}b\textgreater{}\$x\$" in tables.to_latex(content)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50 % & more", r"50 \% \& more"),
        ("a_b^c~d", r"a\_b\textasciicircum{}c\textasciitilde{}d"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("$5 #1", r"\$5 \#1"),
        ("± –", r"$\pm$ --"),
        ("漢", "?"),
    ],
)
def test_latex_escaping(text, escaped):
    assert tables.latex(text) == escaped


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path, partial, config):
    tables.write(partial, config, tmp_path)
    (tmp_path / "page.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs,graphicx}\n"
        "\\begin{document}\\input{table2}\\end{document}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
