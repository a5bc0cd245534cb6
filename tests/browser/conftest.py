"""A real browser: Debian's Chromium, driven by Playwright; without it these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("Chromium is not installed, and `make test` installs it only as root")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=_FLAGS.split())
        yield browser
        browser.close()


class Tab:
    """A page with what it complained of and asked the network for."""

    def __init__(self, browser: Any, path: Any, folded: bool = False, **options: Any) -> None:
        self.context = browser.new_context(
            viewport={"width": 1200, "height": 900}, accept_downloads=True, **options
        )
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss())
        )
        self.address = path.as_uri()
        self.page.goto(self.address)
        self.page.wait_for_selector("html[data-ready]")
        if not folded and self.page.locator("#unfold").count():
            self.page.click("#unfold")
            self.page.wait_for_timeout(100)

    def texts(self, selector: str) -> list[str]:
        found = self.page.locator(f"{selector}:visible").all_text_contents()
        return [text.strip() for text in found]

    def check_quiet(self) -> None:
        """Nothing in the console, no dialog, nothing asked of the network."""
        assert self.errors == []
        assert self.dialogs == []
        others = [
            r for r in self.requests if r != self.address and not r.startswith(("data:", "blob:"))
        ]
        assert others == []


@pytest.fixture
def open_tab(chromium: Any) -> Iterator[Any]:
    tabs: list[Tab] = []

    def open_it(path: Any, **options: Any) -> Tab:
        tabs.append(Tab(chromium, path, **options))
        return tabs[-1]

    yield open_it
    for tab in tabs:
        tab.context.close()
