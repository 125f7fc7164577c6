"""A page in a browser, and an eye on what it says and asks for behind the reader's back."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import time
from pathlib import Path

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

SCREENSHOTS = os.environ.get("MONMDP_SCREENSHOTS")
"""folder for pictures of what the tests see; none are taken without it"""
OWN = ("data:", "blob:", "about:")
"""addresses that lead nowhere outside of the page"""


class Page:
    """A window of a given width and the file that is open in it."""

    def __init__(self, driver, width, downloads):
        self.driver, self.width, self.downloads = driver, width, Path(downloads)
        self.opened = set()
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.prefer("light")
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def prefer(self, scheme):
        """Let the system of the reader be light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.cdp("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path, anchor=""):
        self.driver.get("about:blank")  # else another anchor would not load the page anew
        url = Path(path).as_uri()
        self.opened.add(url)
        self.driver.get(url + anchor)
        self.until("document.documentElement.dataset.ready === 'yes'")
        return self

    # ---- looking

    def js(self, expression, *arguments):
        """Evaluate an expression; elements given as `arguments` are `it[0]`, `it[1]`, …"""
        return self.driver.execute_script(f"const it = arguments; return {expression}", *arguments)

    def until(self, expression, *arguments, seconds=10):
        end = time.monotonic() + seconds
        while not (found := self.js(expression, *arguments)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)
        return found

    def one(self, selector, within=None):
        return (within or self.driver).find_element(By.CSS_SELECTOR, selector)

    def all(self, selector, within=None):
        return (within or self.driver).find_elements(By.CSS_SELECTOR, selector)

    def shown(self, selector, within=None):
        """Elements that are shown."""
        return self._of(selector, within, "n")

    def texts(self, selector, within=None):
        """The words of elements that are shown, as they are written."""
        return self._of(selector, within, "n.textContent.trim()")

    def attributes(self, selector, name, within=None):
        """An attribute of elements that are shown."""
        return self._of(selector, within, f"n.getAttribute('{name}')")

    def _of(self, selector, within, what):
        """Something of each element; asked at once, as a chart may draw itself anew meanwhile."""
        return self.js(
            f"""[...(it[1] ?? document).querySelectorAll(it[0])]
            .filter((n) => n.checkVisibility()).map((n) => {what})""",
            selector, within,
        )  # fmt: skip

    def table(self, name):
        """The rows of a table that are shown: what is written in each cell."""
        return self.js(
            """[...document.querySelector(`table[data-table="${it[0]}"]`).tBodies[0].rows]
            .filter((row) => row.checkVisibility())
            .map((row) => [...row.cells].map((cell) => cell.innerText.trim()))""",
            name,
        )

    # ---- doing

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab(self):
        """Press Tab; return what has the focus then."""
        self.press(Keys.TAB)
        return self.driver.switch_to.active_element

    def click(self, node):
        """Click where the node is; something lying over it would take the click."""
        self.js("it[0].scrollIntoView({ block: 'center' })", node)
        node.click()

    def choose(self, selector, value):
        Select(self.one(selector)).select_by_value(value)

    def drag(self, node, start, stop):
        """Drag from one point of a node to another, both counted from its middle."""
        self.js("it[0].scrollIntoView({ block: 'center' })", node)
        hand = ActionChains(self.driver, duration=50)
        hand.move_to_element_with_offset(node, *start).click_and_hold()
        hand.move_by_offset(stop[0] - start[0], stop[1] - start[1]).release().perform()

    def setting(self, i):
        """Open the section of a setting; return it when its charts are drawn."""
        section = self.all("details.setting")[i]
        if not section.get_property("open"):
            self.click(self.one("summary", section))
        self.until("it[0].dataset.ready === 'yes'", section)
        return section

    def explorer(self, i=0):
        """Go to an explorer; return it when it is drawn."""
        root = self.all("[data-test=explorer]")[i]
        self.js("it[0].scrollIntoView()", root)
        self.until("it[0].querySelector('[data-test=player-line]')", root)
        return root

    def open_everything(self):
        self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for _ in self.all("[data-test=explorer]"):
            self.explorer()
        self.until(
            "[...document.querySelectorAll('.setting')].every((s) => s.dataset.ready === 'yes')"
        )

    def download(self, button):
        """Press a button that gives a CSV file; return its header and its rows."""
        before = set(self.downloads.iterdir())
        self.click(button)
        end = time.monotonic() + 10
        text = ""
        # The file is there, empty, before Chromium fills it; a whole one ends with a line's end.
        while not text.endswith("\r\n"):
            assert time.monotonic() < end, "nothing was downloaded"
            time.sleep(0.02)
            new = [p for p in set(self.downloads.iterdir()) - before if p.suffix == ".csv"]
            text = new[0].read_bytes().decode() if new else ""
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        new[0].unlink()
        return header, rows

    def photograph(self, name):
        """Keep a picture of the whole page, if somebody wants to look at it."""
        if SCREENSHOTS:
            taken = self.cdp("Page.captureScreenshot", captureBeyondViewport=True)
            folder = Path(SCREENSHOTS)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{name}-{self.width}.png"
            path.write_bytes(base64.b64decode(taken["data"]))

    # ---- what should not have happened

    def complaints(self):
        """What the browser complained about and what was asked of others, since the last call."""
        said = [
            f"{entry['level']}: {entry['message']}"
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                asked = event["params"].get("request", event["params"])["url"]
                if asked.partition("#")[0] not in self.opened and not asked.startswith(OWN):
                    said.append(f"request: {asked}")
        return said
