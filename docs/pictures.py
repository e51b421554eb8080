"""Takes the pictures of the documentation in Chromium, of a console over the devnet: ``make pictures``.

Each is what a reader sees who does what the page says: real quotes, pools and balances of the local chains.
They differ from one run to the next, so they are taken when a page has changed, and looked at before they are
kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FOLDER: Final = Path(__file__).parent / "how-to" / "pictures"
WIDTH, HEIGHT = 960, 900
WAIT_MS: Final = 180_000


def swap(page: Page) -> None:
    """A quote of one coin for a dollar token, with its route."""
    page.get_by_label("Amount").fill("1")
    page.get_by_label("Receive").click()
    page.get_by_label("Search by symbol").fill("USDC")
    row = page.locator("li button[data-token]", has=page.get_by_text("USDC", exact=True))
    row.first.click()
    page.get_by_role("button", name="Get a quote").click()
    page.get_by_role("button", name="Show what I sign").wait_for()
    _to_top(page.get_by_role("heading", name="Quote", exact=True))


def signing(page: Page) -> None:
    """What is signed for that quote."""
    swap(page)
    page.get_by_role("button", name="Show what I sign").click()
    part = page.get_by_role("region", name="What you sign")
    part.wait_for()
    _to_top(part)


def pools(page: Page) -> None:
    """The list of pools."""
    _open(page, "pools")
    page.locator("table tbody tr").first.wait_for()


def vaults(page: Page) -> None:
    """The list of vaults."""
    _open(page, "vaults")
    page.locator("table tbody tr").first.wait_for()


def portfolio(page: Page) -> None:
    """What a test account has."""
    _open(page, "portfolio")
    page.get_by_role("button", name="Show the account of my wallet").click()
    page.locator("table tbody tr").first.wait_for()


def operator(page: Page) -> None:
    """What operators see."""
    _open(page, "operator")
    page.locator("table tbody tr").first.wait_for()


PICTURES: Final[Mapping[str, Callable[[Any], None]]] = {
    each.__name__: each for each in (swap, signing, pools, vaults, portfolio, operator)
}


def _to_top(part: Locator) -> None:
    part.evaluate("each => each.scrollIntoView()")


def _open(page: Page, name: str) -> None:
    page.evaluate("name => { location.hash = name; }", name)


def take(folder: Path) -> None:
    """Writes all pictures. Raises ``RuntimeError`` where Chromium is not installed."""
    from playwright.sync_api import sync_playwright
    from quoteway_devnet.demo.server import own_server

    chromium = shutil.which("chromium")
    if chromium is None:
        raise RuntimeError("Chromium takes the pictures: install Debian's package chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    with own_server() as (url, _), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for at, (name, show) in enumerate(PICTURES.items(), 1):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.set_default_timeout(WAIT_MS)
            page.goto(url)
            page.get_by_label("Amount").wait_for()
            show(page)
            page.wait_for_load_state("networkidle")
            page.screenshot(path=folder / f"{name}.png", animations="disabled")
            page.close()
            sys.stdout.write(f"{at} of {len(PICTURES)}: {name}.png\n")
            sys.stdout.flush()
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help=f"default: {FOLDER.name}")
    try:
        take(parser.parse_args().folder)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
