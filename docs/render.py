"""Renders the documentation as static pages of the console: ``make console`` runs it.

It begins with ``docs/README.md`` and follows the links, so that every page that a reader can reach is there:
other Markdown files of this repository, and files of code or configuration as they are. What is not published
keeps its text and loses its link. A link that leads nowhere is an error.
"""

from __future__ import annotations

import argparse
import html
import itertools
import os
import posixpath
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
START = ROOT / "docs" / "README.md"
MOST_BYTES = 200_000
"""Longer files, which are made by programs, are not published."""
OPENAPI = ROOT / "docs" / "reference" / "openapi.json"
"""The gateway itself serves it."""

_COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - Quoteway</title>
{style}
</head>
<body class="docs">
<header>
<nav aria-label="Pages"><a href="/">Console</a><a href="{top}">Documentation</a></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


class DeadLinkError(Exception):
    """A page has a link to a file or heading that does not exist."""


def slug(text: str) -> str:
    """Returns the name of a heading in links, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def place_of(path: Path) -> str:
    """Returns the address of a file's page, relative to that of the site."""
    if path == START:
        return "index.html"
    below = path.relative_to(ROOT).as_posix()
    name = below.removeprefix("docs/") if below.startswith("docs/") else f"repository/{below}"
    return name.removesuffix(".md") + ".html"


class Site:
    """The pages of the documentation. ``style`` is the address of their style sheet; "" for none."""

    def __init__(self, style: str) -> None:
        self._style = f'<link rel="stylesheet" href="{html.escape(style)}">' if style else ""
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._wanted: list[Path] = [START]
        self._anchors: dict[Path, set[str]] = {}
        self._fragments: list[tuple[Path, Path, str]] = []

        self.pictures: dict[str, Path] = {}
        """The pictures of the pages made so far, by their address."""

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yields address and text of each page. Raises ``DeadLinkError``."""
        done: set[Path] = set()
        while self._wanted:
            path = self._wanted.pop()
            if path not in done:
                done.add(path)
                yield place_of(path), self._page(path)
        for source, target, fragment in self._fragments:
            if target.suffix == ".md" and fragment not in self._anchors[target]:
                names = source.relative_to(ROOT), target.relative_to(ROOT)
                raise DeadLinkError(f"{names[0]}: {names[1]} has no #{fragment}")

    def _page(self, path: Path) -> str:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            title, body = self._rendered(path, text)
        else:
            title = path.relative_to(ROOT).as_posix()
            code = f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>'
            body = f"<h1>{html.escape(title)}</h1>\n{code}"
        top = posixpath.relpath("index.html", posixpath.dirname(place_of(path)) or ".")
        return _PAGE.format(title=html.escape(title), style=self._style, top=top, body=body)

    def _rendered(self, path: Path, text: str) -> tuple[str, str]:
        """Returns the title and the body of a Markdown file."""
        tokens = self._markdown.parse(_COMMENT.sub("", text))
        titles, seen = [], Counter[str]()
        for before, token in itertools.pairwise(tokens):
            if before.type == "heading_open":
                words = "".join(part.content for part in token.children or () if part.type != "softbreak")
                titles.append(words)
                name = slug(words)
                seen[name] += 1
                before.attrSet("id", name if seen[name] == 1 else f"{name}-{seen[name] - 1}")
                self._anchors.setdefault(path, set()).add(str(before.attrGet("id")))
        self._anchors.setdefault(path, set())
        for token in tokens:
            if token.children:
                token.children = list(self._linked(path, token.children))
        return titles[0] if titles else path.stem, self._html(tokens)

    def _html(self, tokens: Sequence[Token]) -> str:
        """Returns the HTML. What is wider than a phone can be scrolled, also with the keyboard."""
        made: Any = self._markdown.renderer.render(tokens, self._markdown.options, {})
        body = str(made).replace("<pre>", '<pre tabindex="0">')
        region = '<div class="table" tabindex="0" role="region" aria-label="Table">'
        return body.replace("<table>", f"{region}<table>").replace("</table>", "</table></div>")

    def _linked(self, path: Path, children: Sequence[Token]) -> Iterator[Token]:
        """Yields the parts of a line with the addresses of pages for links, and of pictures in ``docs``."""
        dropped = 0
        for part in children:
            if part.type == "image":
                source = str(part.attrGet("src"))
                if _SCHEME.match(source):  # the page's policy shows none of others
                    yield Token("text", "", 0, content=part.content)
                    continue
                part.attrSet("src", self._picture(path, source))
                part.attrSet("loading", "lazy")
            if part.type == "link_open":
                address = self._address(path, str(part.attrGet("href")))
                if address is None:
                    dropped += 1
                    continue
                part.attrSet("href", address)
            elif part.type == "link_close" and dropped:
                dropped -= 1
                continue
            yield part

    def _picture(self, path: Path, source: str) -> str:
        """Returns where a picture is on the site."""
        target = Path(os.path.normpath(path.parent / source))
        if not target.is_file() or not target.is_relative_to(START.parent) or target.suffix != ".png":
            raise DeadLinkError(f"{path.relative_to(ROOT)}: {source} is no picture of the documentation")
        place = target.relative_to(START.parent).as_posix()
        self.pictures[place] = target
        return posixpath.relpath(place, posixpath.dirname(place_of(path)) or ".")

    def _address(self, path: Path, href: str) -> str | None:
        """Returns where a link of a file leads on the site; None when its target is not published."""
        if _SCHEME.match(href):
            return href
        name, _, fragment = href.partition("#")
        target = path if not name else Path(os.path.normpath(path.parent / name))
        if target.is_dir() and (target / "README.md").is_file():
            target /= "README.md"
        if not target.exists() or not target.is_relative_to(ROOT):
            raise DeadLinkError(f"{path.relative_to(ROOT)}: {href} does not exist")
        if target == OPENAPI:
            return "/v2/openapi.json"
        if target.is_dir() or target.stat().st_size > MOST_BYTES:
            return None
        self._wanted.append(target)
        if fragment:
            self._fragments.append((path, target, fragment))
        here = posixpath.dirname(place_of(path)) or "."
        address = posixpath.relpath(place_of(target), here) if target != path else ""
        return address + (f"#{fragment}" if fragment else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the built console")
    folder: Path = parser.parse_args().folder
    styles = sorted((folder / "assets").glob("*.css"))
    site = Site(f"/site/assets/{styles[0].name}" if styles else "")
    for place, text in site.pages():
        target = folder / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for place, picture in site.pictures.items():
        target = folder / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, target)


if __name__ == "__main__":
    main()
