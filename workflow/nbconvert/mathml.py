"""nbconvert: formulas as MathML, which browsers draw by themselves, so that no page needs MathJax.

The renderer is asked for formulas only: the Markdown parser has already told them from code spans,
code blocks and escaped dollars.
"""

from typing import Any

import jinja2
from latex2mathml.converter import convert
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath


class MathMLRenderer(IPythonRenderer):
    def inline_math(self, body: str) -> str:
        return convert(body)

    def block_math(self, body: str) -> str:
        return convert(body, display="block")

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")


class OfflineExporter(HTMLExporter):
    """HTML that asks the network for nothing."""

    @jinja2.pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        renderer = MathMLRenderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            anchor_link_text=self.anchor_link_text,
        )
        return MarkdownWithMath(renderer=renderer).render(source)
