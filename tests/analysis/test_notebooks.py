"""The notebooks: stored clean, run by papermill, exported to pages that need no network."""

import io
import json

import nbformat
import pytest
from made_records import GRID, fill
from pages import external_references

import notebooks
from eowm import paths
from eowm.analysis import collect
from eowm.settings.config import load_config

FOLDER = paths.ROOT / "notebooks"
STORED = sorted(FOLDER.glob("*.ipynb"))
MATRICES = [f"figures/matrices-{name}.png" for name in GRID["table2"]["scenarios"]]
PRODUCTS = {
    "claims": ["figures/sensitivity.pdf", "figures/sensitivity.png"],
    "cost": ["figures/cost.pdf", "figures/cost.png", "figures/scaling.png"],
    "forgetting": ["figures/tradeoff.pdf", "figures/tradeoff.png", *MATRICES],
    "figure2": ["figures/figure2.pdf", "figures/figure2.png"],
    "table2": ["tables/table2.csv", "tables/table2.md", "tables/table2.tex", "tables/paired.csv"],
    "figure3": ["figures/figure3.pdf", "figures/figure3.png"],
}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    assert [cell.id for cell in notebook.cells][:2] == ["title", "parameters"]
    assert any("What this shows" in cell.source for cell in notebook.cells)


def test_opened_by_hand_a_notebook_shows_the_published_records_and_writes_nothing(tmp_path):
    tree = paths.ROOT / paths.outputs("paper")
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    notebooks.execute(FOLDER / "table3.ipynb", {}, tmp_path / "table3.ipynb")
    assert {path: path.stat().st_mtime_ns for path in tree.rglob("*")} == before
    assert "replicated" in (tmp_path / "table3.ipynb").read_text()


@pytest.mark.parametrize("name", PRODUCTS)
def test_runs_on_records_and_reads_offline(tmp_path, config, monkeypatch, name):
    values = load_config().model_dump(mode="json", exclude_unset=True)
    monkeypatch.setenv("EOWM_CONFIG_JSON", json.dumps(values | {"tables": GRID}))
    fill(tmp_path / "records", config, "smoke", source="standin")
    collect.write(collect.collect(config, "smoke", tmp_path / "records"), tmp_path)
    log = io.StringIO()

    notebooks.execute(
        FOLDER / f"{name}.ipynb",
        {"preset": "smoke", "runs": tmp_path / "runs.json", "out": tmp_path},
        tmp_path / "logs" / f"{name}.ipynb",
        tmp_path / f"{name}.html",
        log=log,
    )

    assert all((tmp_path / product).stat().st_size for product in PRODUCTS[name])
    page = (tmp_path / f"{name}.html").read_text()
    assert external_references(page) == []
    assert "<script" not in page
    assert "<math" in page
    assert "No description has been provided" not in page
    assert "$$" not in page
    assert PRODUCTS[name][0] in log.getvalue()


def small_notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell("preset = 'quick'", metadata={"tags": ["parameters"]})]
    cells += [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_a_failure_keeps_the_executed_copy_and_says_why(tmp_path):
    path = small_notebook(tmp_path / "bad.ipynb", "print('so far', preset)", "1 / 0")
    executed, page = tmp_path / "logs" / "bad.ipynb", tmp_path / "bad.html"
    with pytest.raises(notebooks.NotebookError) as caught:
        notebooks.execute(path, {"preset": "smoke"}, executed, page)
    message = str(caught.value)
    assert "bad.ipynb failed at In [4] (ZeroDivisionError: division by zero)" in message
    assert str(executed) in message
    assert "so far smoke" in executed.read_text()
    assert not page.exists()


def test_an_unknown_parameter_is_refused(tmp_path):
    path = small_notebook(tmp_path / "small.ipynb")
    with pytest.raises(notebooks.NotebookError, match=r"no parameter 'prest' \(did you mean"):
        notebooks.execute(path, {"prest": "smoke"}, tmp_path / "executed.ipynb")


def exported(tmp_path, markdown: str) -> str:
    path = tmp_path / "page.ipynb"
    cell = nbformat.v4.new_markdown_cell(markdown)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    notebooks.export(path, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    return text[text.index("<main>") :]


@pytest.mark.parametrize(
    ("markdown", "formulas"),
    [
        ("A formula $x^2$ and another $y$.", 2),
        ("$$\\sum_i x_i$$", 1),
        ("\\begin{equation}x\\end{equation}", 1),
        ("Code `$x$` and ``a ` $y$``.", 0),
        ("```\n$x$ and $$y$$\n```", 0),
        ("    indented $x$ code $y$", 0),
        ("It costs \\$5 or \\$6.", 0),
    ],
)
def test_formulas_become_mathml_and_nothing_else_does(tmp_path, markdown, formulas):
    assert exported(tmp_path, markdown).count("<math") == formulas


def test_code_spans_keep_their_dollars(tmp_path):
    assert "<code>$x$</code>" in exported(tmp_path, "Code `$x$`.")
