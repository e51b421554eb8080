"""The documentation as a site at ``/docs/``: every page, link and heading, and none of it runs anything."""

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[1] / "src" / "quoteway_console" / "static"
ROOT = Path(__file__).parents[3]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.pictures, self.others = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            assert given["id"] not in self.ids, f"two headings are {given['id']}"
            self.ids.add(given["id"])
        if tag == "a":
            self.links.append(given["href"])
        if tag == "img":
            assert given["alt"], "a picture without words"
            self.pictures.append(given.pop("src"))
        self.others += [
            f"{tag} {name}" for name in given if name.startswith("on") or name in ("style", "src")
        ]
        if tag in ("script", "style", "iframe", "object", "form"):
            self.others.append(tag)


@pytest.fixture(scope="module")
def pages():
    folder = STATIC / "docs"
    if not (folder / "index.html").is_file():
        pytest.skip("needs `make console`")
    files = sorted(folder.rglob("*.html"))
    return {file.relative_to(folder).as_posix(): Page(file.read_text()) for file in files}


def test_every_link_leads_to_a_page_and_its_heading(pages):
    wrong, followed = [], 0
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link) or link in ("/", "/v2/openapi.json"):
                continue
            followed += 1
            place, _, fragment = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), place)) if place else name
            if target not in pages or (fragment and fragment not in pages[target].ids):
                wrong.append(f"{name}: {link}")
    assert wrong == []
    assert followed > 500


def test_every_page_of_the_documentation_is_there_and_can_be_reached(pages):
    missing = [
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path.name != "README.md"
        and path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() not in pages
    ]
    assert missing == []
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for link in pages[name].links:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0]))
            if target in pages:
                waiting.append(target)
    assert reached == set(pages)


def test_every_picture_is_one_of_the_documentation(pages):
    shown = {
        posixpath.normpath(posixpath.join(posixpath.dirname(name), source))
        for name, page in pages.items()
        for source in page.pictures
    }
    kept = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.png")}
    assert shown == kept
    for place in shown:
        assert (STATIC / "docs" / place).read_bytes() == (ROOT / "docs" / place).read_bytes()


def test_no_page_has_anything_that_runs_or_comes_from_elsewhere(pages):
    assert {name: page.others for name, page in pages.items() if page.others} == {}


def test_text_of_the_files_is_shown_and_not_taken_as_html(tmp_path, monkeypatch):
    pytest.importorskip("markdown_it")
    import sys

    sys.path.insert(0, str(ROOT / "docs"))
    import render

    site = render.Site("")
    page = tmp_path / "page.md"
    page.write_text(
        "# A <b>bold</b> one\n\n<script>alert(1)</script>\n\n![x](https://a.example/x.png) `<i>`\n"
    )
    title, body = site._rendered(page, page.read_text())
    assert title == "A <b>bold</b> one"
    for tag in ("<script", "<img", "<b>", "<i>"):
        assert tag not in body
    page.write_text("[gone](nowhere.md)\n")
    monkeypatch.setattr(render, "ROOT", tmp_path)
    with pytest.raises(render.DeadLinkError, match=r"nowhere\.md does not exist"):
        site._rendered(page, page.read_text())
    page.write_text("![no picture](page.md)\n")
    with pytest.raises(render.DeadLinkError, match=r"page\.md is no picture"):
        site._rendered(page, page.read_text())
