"""The reports of ``quoteway check``: JSON, a page and an image, and the command that writes them."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from quoteway.testing.levels import Finding, Report, Result, badge_of, html_of, json_of
from quoteway.testing.levels.conforming import SUITES
from quoteway.testing.levels.remedies import REMEDIES

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
FINDING = Finding(HOSTILE, 2, HOSTILE, "swap", HOSTILE, HOSTILE)
RESULTS = (
    Result("loads", 0, HOSTILE, "swap", 0.5),
    Result("cases_are_found", 1, "bad", "pool", 0.25, not_applicable=HOSTILE),
    Result(HOSTILE, 2, HOSTILE, "swap", 1.0, FINDING),
)
REPORT = Report(HOSTILE, "quoteway-bad", HOSTILE, 1, RESULTS, {0: 0.5, 1: 0.25, 2: 1.0}, 7)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.found, self.texts = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_json_has_every_check_and_finding():
    content = json.loads(json_of(REPORT))
    assert (content["level"], content["executions"]) == (1, 7)
    assert content["seconds"] == {"0": 0.5, "1": 0.25, "2": 1.0}
    assert [row["outcome"] for row in content["checks"]] == ["ok", "not applicable", "failed"]
    assert content["findings"][0]["remedy"] == HOSTILE


def test_a_page_shows_texts_of_plugins_as_text():
    page = Tags(html_of(REPORT))
    assert not {"script", "img"} & set(page.found)
    assert page.texts.count(HOSTILE) == 6, "check and remedy; check, provider twice and reason of the rows"
    assert f"{HOSTILE} {HOSTILE}: level 1" in page.texts


@pytest.mark.parametrize(("level", "text"), [(None, "no level"), (0, "level 0"), (3, "level 3")])
def test_a_badge_is_an_image_that_says_the_level(level, text):
    image = ElementTree.fromstring(badge_of(Report(HOSTILE, "", "", level, ())))
    assert image.tag.endswith("svg")
    assert image.attrib["aria-label"] == f"Quoteway: {text}"


def test_remedies_are_of_tests_that_exist():
    tests = {name for suites in SUITES.values() for suite in suites for name in dir(suite)}
    assert set(REMEDIES) <= tests


@pytest.mark.slow
def test_the_command_checks_a_plugin_writes_its_level_and_reports(tmp_path):
    def quoteway(*arguments):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("QUOTEWAY_")}
        command = [sys.executable, "-m", "quoteway", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=500, check=False
        )

    files = [tmp_path / name for name in ("report.json", "report.html", "badge.svg")]
    options = [f"--{kind}={file}" for kind, file in zip(("json", "html", "badge"), files, strict=True)]
    done = quoteway("check", "across", "--level", "1", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "level 1, written to quoteway.levels" in done.stdout
    assert re.search(r"^time: level 0 [\d.]+ s, level 1 [\d.]+ s$", done.stdout, re.MULTILINE)
    assert json.loads(files[0].read_text())["level"] == 1
    assert all(file.stat().st_size for file in files)
    row = json.loads(Path(tmp_path / "quoteway.levels").read_text())["plugins"]["across"]
    assert (row["distribution"], row["level"]) == ("quoteway-across", 1)
    unknown = quoteway("check", "nobody", "--level", "0")
    assert unknown.returncode != 0
    assert "nobody" in unknown.stdout + unknown.stderr
    assert "Traceback" not in unknown.stderr
