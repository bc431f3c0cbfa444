"""The report: one page, nothing from elsewhere, nothing unescaped."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest
from conftest import external_references, fill, make_record, store

from eowm.analysis import report


class Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.seen: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def all(self, name: str) -> list[dict]:
        return [attrs for tag, attrs in self.seen if tag == name]


@pytest.fixture(scope="module")
def page(tmp_path_factory, config) -> str:
    tmp_path = tmp_path_factory.mktemp("quick")
    fill(tmp_path / "records", config, "quick", source="standin", skip="owm")
    failed = make_record(
        config, "table2/cifar10-5/owm", preset="quick", status="failed: <script>alert(1)</script>"
    )
    store(failed, tmp_path / "records")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "table2.html").write_text("")
    return report.write(tmp_path, config, "quick").read_text()


def test_it_needs_nothing_from_elsewhere(page):
    assert external_references(page) == []
    assert not Tags(page).all("script")
    assert not Tags(page).all("link")


def test_markup_in_a_record_is_text(page):
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_tables_have_scoped_headers_and_scroll_inside(page):
    tags = Tags(page)
    assert {attrs.get("scope") for attrs in tags.all("th")} == {"col", "row", "rowgroup"}
    assert sum(attrs.get("class") == "scroll" for attrs in tags.all("div")) == 3
    assert all(attrs.get("alt") for attrs in tags.all("img"))
    assert tags.all("html")[0]["lang"] == "en"


def test_it_says_what_it_is_made_of(page):
    for part in ("None of the 16 results may be compared", "reduced budget", "c0ffee", "standin"):
        assert part in page
    assert "16 of 24 runs complete, 1 failed, 7 not run" in page


def test_it_links_the_notebooks(page):
    assert '<a href="../notebooks/table2.html">' in page


def test_the_papers_preset_is_comparable(tmp_path, config):
    fill(tmp_path / "records", config, "paper")
    text = report.write(tmp_path, config, "paper").read_text()
    assert "All results were made on the real data" in text


def test_same_records_same_page(tmp_path, config):
    fill(tmp_path / "records", config, "quick")
    first = report.write(tmp_path, config, "quick").read_bytes()
    assert report.write(tmp_path, config, "quick").read_bytes() == first


def test_without_records_there_is_a_page_too(tmp_path, config):
    assert "There is no result yet." in report.write(tmp_path, config, "quick").read_text()


def test_drawing_never_imports_torch():
    check = "import sys, eowm.analysis.report, eowm.notebooks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], timeout=60).returncode == 0
