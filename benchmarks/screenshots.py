"""Pictures of a report as a browser shows it: its beginning, and the inside of its first run.

    python benchmarks/screenshots.py docs/report/sample.html docs/report

Needs chromium and its driver, which `make test-browser` installs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

OPEN_A_CELL = """
const slider = document.querySelector("[data-test=slider]");
slider.value = 6;
slider.dispatchEvent(new Event("input", { bubbles: true }));
slider.dispatchEvent(new Event("change", { bubbles: true }));
document.querySelector("[data-test=layer-status]").click();
document.querySelector("[data-test=player-next]").click();
"""


def main() -> None:
    """Take the two pictures."""
    page, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        _size(browser, 1100, 1000)
        browser.get(page.as_uri())
        ready = "return document.documentElement.dataset.ready === 'yes'"
        WebDriverWait(browser, 20).until(lambda b: b.execute_script(ready))
        browser.save_screenshot(str(folder / "overview.png"))
        _size(browser, 1200, 1160)
        browser.execute_script("document.querySelector('.filters').style.position = 'static'")
        browser.execute_script("document.querySelector('.explorer').scrollIntoView()")
        there = "return document.querySelector('[data-test=slider]') !== null"
        WebDriverWait(browser, 20).until(lambda b: b.execute_script(there))
        browser.execute_script(OPEN_A_CELL)
        time.sleep(0.5)  # smooth scrolling and transitions
        browser.execute_script("document.querySelector('.explorer').scrollIntoView()")
        browser.save_screenshot(str(folder / "explorer.png"))
    finally:
        browser.quit()


def _size(browser: webdriver.Chrome, width: int, height: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )


if __name__ == "__main__":
    main()
