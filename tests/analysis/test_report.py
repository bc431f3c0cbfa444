"""The report: one page, nothing from elsewhere, nothing unescaped."""

import html
import json
import re
from html.parser import HTMLParser

import pytest
from made_records import fill, make_record, matrix, runs_with, store
from pages import external_references

from eowm.analysis import collect, report


def write(folder, config, preset):
    runs = collect.collect(config, preset, folder / "records")
    return report.write(runs, config, preset, folder)


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
    tmp_path = tmp_path_factory.mktemp("smoke")
    fill(tmp_path / "records", config, "smoke", source="standin", skip="owm")
    failed = make_record(
        config, "table2/cifar10-5/owm", preset="smoke", status="failed: <script>alert(1)</script>"
    )
    store(failed, tmp_path / "records")
    return write(tmp_path, config, "smoke").read_text()


def test_it_needs_nothing_from_elsewhere(page):
    assert external_references(page) == []
    assert not any("src" in attrs for attrs in Tags(page).all("script"))
    assert not Tags(page).all("link")
    assert "default-src 'none'" in page


def test_markup_in_a_record_is_text(page):
    """Neither the page's HTML nor the embedded JSON lets it out."""
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert len(Tags(page).all("script")) == page.count("</script>") == 2
    assert stories(page)["table2/cifar10-5/owm"]["runs"][0]["status"].endswith("</script>")


def stories(page) -> dict:
    return json.loads(re.search(r'id="stories">(.*?)</script>', page, re.S)[1])


def test_every_cell_has_a_story_and_a_number_or_a_reason(page, config):
    told = stories(page)
    assert told.keys() == {cell.name for cell in config.cells("smoke")}
    for name, story in told.items():
        accuracy = story["metrics"][0]
        assert accuracy["n"] or accuracy["note"], name
        assert story["commands"][0].startswith("eowm train ")
        assert all(line["origin"] for line in story["settings"]), name
    buttons = {attrs.get("data-cell") for attrs in Tags(page).all("button")}
    assert told.keys() <= buttons


def test_every_method_is_explained(page, config):
    articles = {attrs["aria-labelledby"] for attrs in Tags(page).all("article")}
    assert articles == {f"method-{name}" for name in config.methods}
    assert "P_s = P (c₁ I + c₂ Q)" in page


def test_perturbing_one_record_changes_only_its_story(tmp_path, config):
    fill(tmp_path / "records", config, "smoke")
    before = stories(write(tmp_path, config, "smoke").read_text())
    name = "table2/cifar10-5/owm"
    store(make_record(config, name, preset="smoke", accuracy=matrix(5, 0.123, 0.0)),
          tmp_path / "records")  # fmt: skip
    after = stories(write(tmp_path, config, "smoke").read_text())
    assert [cell for cell in before if before[cell] != after[cell]] == [name]
    assert after[name]["metrics"][0]["mean"] == 0.123


def test_the_opening_follows_from_the_records(tmp_path, config):
    assert "no pair of runs that may be compared" in write(tmp_path, config, "paper").read_text()
    cells = {
        "table2/cifar10-5/owm": [0.5316] * 2,
        "table2/cifar10-5/eowm": [0.6316, 0.6516],
        "table2/cifar100-2/owm": [0.9],
        "table2/cifar100-2/eowm": [0.8],
    }
    runs = runs_with(tmp_path / "records", config, cells)
    text = html.unescape(report.render(runs, config, "paper"))
    pair = "CIFAR-10 (5 tasks) +0.1100 [-0.0171, +0.2371], in the paper +0.2907"
    assert f"{pair}; CIFAR-100 (2 tasks) -0.1000 (one pair), in the paper" in text
    assert "16 numbers of the paper's Tables 2 and 3: of EOWM and OWM 1 replicated, 0 close" in text
    assert "3 of 72 runs complete, 0 failed, 69 not run; 3 may be compared" in text


def test_tables_have_scoped_headers_and_scroll_inside(page):
    tags = Tags(page)
    assert {attrs.get("scope") for attrs in tags.all("th")} == {"col", "row", "rowgroup"}
    assert sum("scroll" in attrs.get("class", "") for attrs in tags.all("div")) == 2 + 2 + 1 + 1
    assert all(attrs.get("alt") for attrs in tags.all("img"))
    assert tags.all("html")[0]["lang"] == "en"


def test_it_says_what_it_is_made_of(page):
    state = "16 of 24 runs complete, 1 failed, 7 not run"
    for part in (f"{state}; 0 may be compared", "(reduced budget, stand-in data)", "c0ffee"):
        assert part in page


def test_same_records_same_page(tmp_path, config):
    fill(tmp_path / "records", config, "smoke")
    first = write(tmp_path, config, "smoke").read_bytes()
    assert write(tmp_path, config, "smoke").read_bytes() == first
