"""A table of the paper with our numbers: long CSV, Markdown and LaTeX from one layout.

What limits a number stands as a letter in its own cell, and the legend explains the letters.
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from eowm import paper
from eowm.analysis import style
from eowm.analysis.statistics import RULE, SIGNS
from eowm.analysis.summary import ABOVE_JOINT, LETTER, MARKS
from eowm.settings.config import Config

METRICS = {"AA": "average accuracy", "MRR": "memory retention rate"}
TITLES = {"table2": "Table 2", "table3": "Table 3"}
REFERENCES = "Not in the paper"


@dataclass(frozen=True)
class Entry:
    """One cell: our number over the paper's."""

    line: Any  # of the summary

    @property
    def ours(self) -> str:
        """`0.9523 ± 0.0051 (3)`, or in a word why there is no number."""
        line = self.line
        if line.n:
            spread = f" ± {number(line.high - line.mean)}" if line.n > 1 else ""
            return f"{number(line.mean)}{spread} ({line.n})"
        return next((word for letter, word in _NO_NUMBER.items() if letter in line.marks), "–")

    @property
    def paper(self) -> str:
        return "" if pd.isna(self.line.paper) else number(self.line.paper)

    @property
    def sign(self) -> str:
        """Of the verdict."""
        return SIGNS.get(self.line.verdict, "")

    @property
    def paper_marks(self) -> str:
        """The paper's number exceeds our joint training."""
        return LETTER[ABOVE_JOINT] if self.line.paper_above else ""

    @property
    def cell(self) -> str:
        return f"{self.line.table}/{self.line.scenario}/{self.line.row}"


@dataclass(frozen=True)
class Line:
    title: str
    reference: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Block:
    metric: str
    lines: tuple[Line, ...]

    def group(self, reference: bool) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.reference == reference)


@dataclass(frozen=True)
class Layout:
    """Everything a table shows, as text without markup."""

    name: str
    title: str
    caption: str
    columns: tuple[tuple[str, str], ...]  # scenario, and its number of tasks
    blocks: tuple[Block, ...]
    legend: tuple[tuple[str, str], ...]  # letter and its meaning
    remarks: tuple[str, ...]
    rule: str = RULE  # how a verdict is found


# --- Layout -----------------------------------------------------------------------------------


def layout(summary: pd.DataFrame, config: Config, table: str = "table2") -> Layout:
    """The paper's layout: blocks of metrics, rows of methods then references, columns scenarios."""
    grid = config.tables[table]
    shown = summary[(summary.table == table) & summary.in_grid & summary.metric.isin(METRICS)]
    cells = {(line.metric, line.row, line.scenario): line for line in shown.itertuples()}
    blocks = []
    for metric in METRICS:
        lines = []
        for row in (*grid.methods, *grid.references):
            entries = tuple(Entry(cells[metric, row, scenario]) for scenario in grid.scenarios)
            lines.append(Line(style.title(config, row), row in grid.references, entries))
        blocks.append(Block(metric, tuple(lines)))
    letters = "".join(shown.marks) + LETTER[ABOVE_JOINT] * int(shown.paper_above.any())
    return Layout(
        name=table,
        title=TITLES.get(table, table),
        caption=_caption(shown, config, table),
        columns=tuple(style.scenario_lines(scenario) for scenario in grid.scenarios),
        blocks=tuple(blocks),
        legend=tuple(
            (mark.letter, f"{mark.name}: {mark.meaning}")
            for mark in MARKS
            if mark.letter in letters
        ),
        remarks=tuple(_remarks(summary, config, table)),
    )


_NO_NUMBER = {LETTER["failed"]: "failed", LETTER["not defined"]: "n/a",
              LETTER["not run"]: "not run"}  # fmt: skip


def number(value: float) -> str:
    """The paper's four digits."""
    return f"{value:.4f}"


def _caption(shown: pd.DataFrame, config: Config, table: str) -> str:
    preset = shown.preset.iloc[0]
    seeds = sorted({int(seed) for line in shown.seeds for seed in line.split()})
    metrics = " and ".join(f"{title} ({name})" for name, title in METRICS.items())
    return (
        f"The paper's {TITLES.get(table, table)}, preset {preset} "
        f"({config.presets[preset].description}): {metrics} after the last task. "
        "Upper line: our mean over seeds ± half-width of the 95 % Student t-interval of the mean "
        "(number of runs); a single run has no interval. "
        f"Seeds: {', '.join(map(str, seeds)) or 'none yet'}. "
        "Lower line, in italics: the paper's number, published without n and error; before it the "
        "sign of our verdict."
    )


def _remarks(summary: pd.DataFrame, config: Config, table: str) -> Iterator[str]:
    """What the table leaves out, and why a cell failed."""
    grid = config.tables[table]
    here = {row.partition(":")[0] for row in grid.methods}
    absent = [name for name in paper.table2().method.unique() if name not in here]
    if table == "table2" and absent:
        yield f"Methods of the paper that this grid does not have: {', '.join(absent)}."
    once = summary[(summary.table == table) & (summary.metric == "AA")]
    for line in once[once.in_grid & once.marks.str.contains(LETTER["failed"])].itertuples():
        where = f"{style.title(config, line.row)}, {style.scenario_title(line.scenario)}"
        yield f"{where}: {line.note}."
    outside = once[~once.in_grid]
    if len(outside):
        names = ", ".join(f"{line.scenario}/{line.row}" for line in outside.itertuples())
        yield f"Recorded, but outside the grid and not shown: {names}."


# --- Files ------------------------------------------------------------------------------------


def write(summary: pd.DataFrame, config: Config, folder: Path, table: str = "table2") -> list[Path]:
    """`<folder>/<table>.csv`, `.md` and `.tex`."""
    content = layout(summary, config, table)
    texts = {
        "csv": to_csv(summary[summary.table == table]),
        "md": to_markdown(content),
        "tex": to_latex(content),
    }
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for suffix, text in texts.items():
        files.append(folder / f"{table}.{suffix}")
        files[-1].write_text(text, encoding="utf-8")
    return files


def to_csv(summary: pd.DataFrame) -> str:
    """One line per cell and metric, every number at full precision."""
    return summary.to_csv(index=False, lineterminator="\n")


# --- Markdown ---------------------------------------------------------------------------------


def to_markdown(content: Layout) -> str:
    parts = [_md(content.caption)]
    for block in content.blocks:
        head = [block.metric, *(f"{_md(name)}<br>({tasks})" for name, tasks in content.columns)]
        lines = [_md_line(head), _md_line(["---"] * len(head))]
        lines += [_md_row(line) for line in block.group(reference=False)]
        if references := block.group(reference=True):
            lines.append(_md_line([f"*{REFERENCES}*", *[""] * len(content.columns)]))
            lines += [_md_row(line) for line in references]
        parts.append("\n".join(lines))
    legend = [f"<sup>{letter}</sup> {_md(meaning)}" for letter, meaning in content.legend]
    below = (content.rule, *content.remarks)
    parts.append("<br>\n".join([*legend, *(_md(remark) for remark in below)]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _md_row(line: Line) -> str:
    return _md_line([_md(line.title), *(_md_entry(entry) for entry in line.entries)])


def _md_entry(entry: Entry) -> str:
    marks = f" <sup>{','.join(entry.line.marks)}</sup>" if entry.line.marks else ""
    sign = f"{entry.sign} " if entry.sign else ""
    above = f" <sup>{entry.paper_marks}</sup>" if entry.paper_marks else ""
    below = f"<br>{sign}*paper {entry.paper}*{above}" if entry.paper else ""
    return entry.ours + marks + below


def _md_line(cells) -> str:
    return "| " + " | ".join(cells) + " |"


def _md(text: str) -> str:
    """Plain text in Markdown: no markup of its own, no column break."""
    for special in "\\`*_[]|":
        text = text.replace(special, "\\" + special)
    return html.escape(text, quote=False).replace("\n", " ")


# --- LaTeX ------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "–": "--", "×": r"$\times$",
    "−": "$-$", "…": r"\ldots{}", "≈": r"$\approx$", "≠": r"$\neq$", "\n": " ",
}  # fmt: skip


def to_latex(content: Layout) -> str:
    r"""A `table*` for `\input`; needs booktabs, and graphicx to shrink what is too wide."""
    columns = len(content.columns)
    heads = [_stack([latex(name), latex(f"({tasks})")]) for name, tasks in content.columns]
    body = [
        rf"\begin{{tabular}}{{ll{'c' * columns}}}",
        r"\toprule",
        " & ".join(["Metric", "Method", *heads]) + r" \\",
    ]
    for block in content.blocks:
        body.append(r"\midrule")
        body += _latex_lines(block.group(reference=False), block.metric)
        if references := block.group(reference=True):
            body.append(rf"\cmidrule(l){{2-{columns + 2}}}")
            body.append(rf" & \multicolumn{{{columns + 1}}}{{l}}{{\textit{{{REFERENCES}}}}} \\")
            body += [r"\addlinespace", *_latex_lines(references, "")]
    body += [r"\bottomrule", r"\end{tabular}"]
    legend = [
        rf"\textsuperscript{{{letter}}} {latex(meaning)}" for letter, meaning in content.legend
    ]
    below = "; ".join(legend) + ("." if legend else "")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,graphicx}",
            r"\begin{table*}[tp]",
            r"\centering",
            rf"\caption{{{latex(content.caption)}}}",
            rf"\label{{tab:{content.name}}}",
            r"\smallskip",
            r"\footnotesize\setlength{\tabcolsep}{4pt}%",
            r"\sbox0{%",
            *body,
            r"}%",
            r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
            "",
            r"\medskip",
            r"\parbox{\linewidth}{\raggedright\scriptsize " + below,
            *(r"\newline " + latex(remark) for remark in (content.rule, *content.remarks)),
            "}",
            r"\end{table*}",
            "",
        ]
    )


def latex(text: str) -> str:
    """Plain text in LaTeX; a character that pdflatex has no glyph for becomes a question mark."""
    return "".join(_LATEX.get(letter, letter if ord(letter) < 256 else "?") for letter in text)


def _latex_lines(lines: tuple[Line, ...], metric: str) -> list[str]:
    """Rows with a little room between them; the first one names the metric."""
    parts = []
    for line in lines:
        cells = [metric, latex(line.title), *(_latex_entry(entry) for entry in line.entries)]
        parts += [" & ".join(cells) + r" \\", r"\addlinespace"]
        metric = ""
    return parts[:-1]


def _latex_entry(entry: Entry) -> str:
    """Mean, interval and the paper's number below each other: eight columns fit a page so."""
    centre, plus_minus, spread = entry.ours.partition(" ± ")
    lines = [latex(centre)]
    if plus_minus:
        lines.append(latex("± " + spread))
    if entry.line.marks:
        lines[0] += rf"\textsuperscript{{{','.join(entry.line.marks)}}}"
    if entry.paper:
        above = rf"\textsuperscript{{{entry.paper_marks}}}" if entry.paper_marks else ""
        lines.append(rf"{latex(entry.sign)} \textit{{{entry.paper}}}{above}".strip())
    return _stack(lines)


def _stack(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0]
    return r"\begin{tabular}{@{}c@{}}" + r"\\".join(lines) + r"\end{tabular}"
