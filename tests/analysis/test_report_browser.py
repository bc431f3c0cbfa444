"""The report in a real browser: Chromium, driven through chromedriver's HTTP interface."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from urllib.error import URLError

import pytest
from made_records import fill, make_record, matrix, store

from eowm.analysis import collect, report

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="chromium or chromedriver is not installed"
    ),
]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name W3C WebDriver gives an element's id
CELL = "table2/cifar10-5/owm"
ESCAPE = "\ue00c"


class Browser:
    """As much of WebDriver as is needed here."""

    def __init__(self, profile) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.call("GET", "/status")
                break
            except URLError:
                time.sleep(0.2)
        arguments = ["--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                     "--disable-background-networking", "--disable-component-update",
                     "--disable-sync", f"--user-data-dir={profile}"]  # fmt: skip
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        options = {
            "goog:chromeOptions": {"binary": BROWSER, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        found = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.address += f"/session/{found['sessionId']}"

    def call(self, verb: str, path: str, content: dict | None = None):
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.address + path, data, method=verb)  # noqa: S310
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.loads(answer.read())["value"]

    def close(self) -> None:
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(30)

    def open(self, address: str, width: int = 1400, height: int = 1000) -> None:
        self.call("POST", "/window/rect", {"width": width, "height": height})
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": address})

    def element(self, selector: str) -> str:
        query = {"using": "css selector", "value": selector}
        return self.call("POST", "/element", query)[ELEMENT]

    def click(self, selector: str) -> None:
        self.call("POST", f"/element/{self.element(selector)}/click", {})

    def press(self, selector: str, keys: str) -> None:
        self.call("POST", f"/element/{self.element(selector)}/value", {"text": keys})

    def run(self, script: str):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def log(self, kind: str) -> list[dict]:
        return self.call("POST", "/se/log", {"type": kind})


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory, config) -> str:
    """The paper's preset with gaps, a failure and markup in a record."""
    folder = tmp_path_factory.mktemp("paper")
    fill(folder / "records", config, "paper", skip="finetune")
    failed = make_record(
        config, "table2/cifar10-5/finetune", status="failed: </script><script>alert(1)</script>"
    )
    store(failed, folder / "records")
    for seed in (0, 1, 2):
        record = make_record(config, CELL, seed, accuracy=matrix(5, 0.5316, 0.0))
        store(record, folder / "records")
    runs = collect.collect(config, "paper", folder / "records")
    return report.write(runs, config, "paper", folder).as_uri()


def visible(browser, selector: str) -> int:
    return browser.run(
        f"return [...document.querySelectorAll({json.dumps(selector)})]"
        ".filter(node => node.checkVisibility()).length"
    )


def test_it_loads_without_errors_or_requests(browser, address) -> None:
    browser.log("browser"), browser.log("performance")
    browser.open(address)
    browser.click(f".map:not([hidden]) button[data-cell='{CELL}']")
    assert browser.log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.log("performance")]
    asked = {
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }
    fetched = {url for url in asked if not url.startswith(("data:", "about:"))}
    assert fetched == {address}


def test_a_cell_opens_its_story_and_gives_the_focus_back(browser, address) -> None:
    browser.open(address)
    assert visible(browser, "#story") == 0
    cell = f".map:not([hidden]) button[data-cell='{CELL}']"
    browser.press(cell, "\ue007")  # Enter: the keyboard is enough
    text = browser.run("return document.querySelector('#story').innerText")
    for part in (
        "OWM · CIFAR-10 (5 tasks)",
        "0.5316",
        "replicated",
        "Accuracy matrix",
        "c0ffee",
        "config.yaml: ",  # where a setting comes from
        "eowm train table2/cifar10-5/owm --seed 0 --preset paper",
    ):
        assert part in text
    assert visible(browser, "#story .matrix td") == 25
    assert visible(browser, "#story svg path") >= 3  # a curve a run
    browser.press("#story .close", ESCAPE)
    assert visible(browser, "#story") == 0
    assert browser.run("return document.activeElement.dataset.cell") == CELL


def test_markup_in_a_record_stays_text(browser, address) -> None:
    browser.open(address + "#cell=table2%2Fcifar10-5%2Ffinetune")
    text = browser.run("return document.querySelector('#story').innerText")
    assert "</script><script>alert(1)</script>" in text
    assert browser.run("return document.scripts.length") == 2


def test_filters(browser, address) -> None:
    browser.open(address)
    assert visible(browser, ".map[data-metric=AA]") == 1
    browser.click("input[value=MRR]")
    assert visible(browser, ".map[data-metric=AA]") == 0
    assert visible(browser, ".map[data-metric=MRR]") == 1

    before = visible(browser, ".heat td button")
    browser.press("select[name=family]", "cifar100")
    assert visible(browser, ".heat td button") == before / 2
    browser.press("select[name=verdict]", "not replicated")
    assert visible(browser, ".heat td:not(.dim)") < visible(browser, ".heat td")

    every = visible(browser, "li[data-claim]")
    counts = []
    for status in ("holds", "fails", "undecided"):
        browser.click(f"button[data-list=claim][data-value={status}]")
        counts.append(visible(browser, "li[data-claim]"))
        assert counts[-1] == visible(browser, f"li[data-claim={status}]")
    assert sum(counts) == every
    assert browser.run("return document.querySelector('#claim-count').innerText").endswith(
        str(every)
    )


@pytest.mark.parametrize(("width", "height"), [(1400, 1000), (390, 844)])
def test_it_fits_the_screen(browser, address, width, height) -> None:
    """Only tables scroll sideways, inside their own frames."""
    browser.open(address, width, height)
    inside, screen = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert inside <= screen


def test_every_control_has_a_name(browser, address) -> None:
    browser.open(address)
    nameless = browser.run(
        "return [...document.querySelectorAll('button, select, input, a')].filter(node =>"
        " !(node.ariaLabel || node.textContent.trim() || node.labels?.length)).length"
    )
    assert nameless == 0
