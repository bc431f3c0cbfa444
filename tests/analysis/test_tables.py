"""Table 2 as CSV, Markdown and LaTeX."""

import io
import shutil
import subprocess

import pandas as pd
import pytest
from conftest import GRID, fill, make_record, matrix, store

from eowm.analysis import collect, tables
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
    fill(tmp_path, config, "quick", source="standin", skip="owm")
    failed = make_record(
        config, "table2/cifar10-5/owm", preset="quick", status="failed: loss of 50 % & more"
    )
    store(failed, tmp_path)
    return summarised(tmp_path, config, "quick")


def test_layout_is_the_papers(full, config):
    content = tables.layout(full, config)
    assert [block.metric for block in content.blocks] == ["AA", "MRR"]
    assert content.columns[0] == ("Shuffled MNIST", "3 tasks")
    assert [line.title for line in content.blocks[0].lines] == [
        config.methods[name].title for name in ("owm", "finetune", "joint")
    ]
    assert [line.reference for line in content.blocks[0].lines] == [False, True, True]


def test_a_cell_holds_mean_interval_n_and_the_papers_number(tmp_path, config):
    for seed, accuracy in enumerate((0.50, 0.52, 0.57)):
        record = make_record(
            config, "table2/cifar10-5/owm", seed, accuracy=matrix(5, accuracy, 0.0)
        )
        store(record, tmp_path)
    content = tables.layout(summarised(tmp_path, config), config)
    entry = content.blocks[0].lines[0].entries[3]
    assert entry.ours == "0.5300 ± 0.0896 (3)"
    assert float(entry.paper) > 0
    assert content.blocks[0].lines[1].entries[3].paper is None


def test_what_limits_a_number_stands_in_its_cell(partial, config):
    content = tables.layout(partial, config)
    owm, finetune, joint = content.blocks[0].lines
    assert owm.entries[3].ours == "failed"
    assert owm.entries[0].ours == "not run"
    assert finetune.entries[0].marks == "rs"
    assert joint.entries[0].ours.endswith("(1)")
    assert content.blocks[1].lines[2].entries[0].ours == "n/a"
    assert [letter for letter, _ in content.legend] == ["r", "s", "f", "m", "u"]
    assert any("loss of 50 % & more" in remark for remark in content.remarks)


def test_caption_states_preset_seeds_interval_and_error(full, config):
    caption = tables.layout(full, config).caption
    for part in ("preset paper", "Seeds: 0, 1, 2.", "95 % Student t-interval", "half-width"):
        assert part in caption


def test_absent_methods_of_the_paper_are_named(full, config):
    remarks = " ".join(tables.layout(full, config).remarks)
    assert "eowm" in remarks
    assert "ewc" in remarks


def test_csv_keeps_full_precision(full):
    again = pd.read_csv(io.StringIO(tables.to_csv(full)))
    assert again["mean"].tolist() == pytest.approx(full["mean"].tolist(), abs=0, nan_ok=True)
    assert again.high.tolist() == pytest.approx(full.high.tolist(), abs=0, nan_ok=True)


def test_markdown_has_equal_rows(partial, config):
    text = tables.to_markdown(tables.layout(partial, config))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count(" | ") for row in rows if "---" not in row} == {8}
    assert "<sup>r,s</sup>" in text
    assert "*paper 0." in text


def test_text_from_the_config_cannot_break_markup(tmp_path):
    values = {"title": "A|B_1 & 100% <b>$x$</b>"}
    config = load_config(overlay={"tables": GRID})
    method = config.methods["owm"].model_copy(update=values)
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


def test_latex_rows_have_ten_cells(full, config):
    text = tables.to_latex(tables.layout(full, config))
    rows = [line for line in text.splitlines() if " & " in line and "multicolumn" not in line]
    assert len(rows) == 1 + 2 * 3
    assert {row.count(" & ") for row in rows} == {9}
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1


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


def test_write_names_its_files(tmp_path, full, config):
    files = tables.write(full, config, tmp_path / "tables")
    assert [file.name for file in files] == ["table2.csv", "table2.md", "table2.tex"]
    assert all(file.stat().st_size for file in files)
