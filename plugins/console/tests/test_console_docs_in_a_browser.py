"""The documentation in Chromium, served by the gateway with the policy of the console."""

import pytest

pytest.importorskip("quoteway_devnet", reason="needs the quoteway-devnet distribution")

from console_pages import serious

pytestmark = pytest.mark.services


async def test_a_reader_comes_from_the_console_and_follows_links(gateway, browse):
    page = await browse(gateway[0], viewport={"width": 360, "height": 740}, color_scheme="dark")
    await page.get_by_role("link", name="Docs").click()
    await page.get_by_role("heading", name="Documentation").wait_for()
    assert page.url.endswith("/docs/")
    for name, heading in (
        ("use the console", "Use the console"),
        ("consume actions", "Consume actions safely"),
    ):
        await page.get_by_role("link", name=name).first.click()
        await page.get_by_role("heading", name=heading, level=1).wait_for()
        assert await serious(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.goto(gateway[0] + "/docs")
    assert page.url.endswith("/docs/")
    for place in ("reference/settings.html", "tutorial/write-a-provider.html", "reference/guard-checks.html"):
        response = await page.goto(f"{gateway[0]}/docs/{place}")
        assert response.status == 200
        assert "script-src 'self'" in response.headers["content-security-policy"]
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        assert await page.evaluate("getComputedStyle(document.body).margin") == "0px", "its style is applied"
    missing = await page.goto(f"{gateway[0]}/docs/no-such-page.html")
    assert missing.status == 404
