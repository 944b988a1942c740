"""Screenshots for the documentation: the demo's report and server pages.

Each screenshot is taken in light and dark mode, and saved as `docs/pictures/NAME-light.webp` and
`NAME-dark.webp`. Pages with photographs are excluded for copyright reasons.

Usage: pictures.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

PROJECT = Path(__file__).parents[1]
# The documentation scales the screenshots down; the higher resolution is for high-density displays.
WIDTH, SCALE = 1080, 1.5
# Seconds until the demo server must have stopped.
SECONDS = 600
# Colors per screenshot: enough for text, lines and bars. More colors would only increase the file size.
COLORS = 64


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--output", type=Path, default=Path("docs/pictures"), help="output folder (default: docs/pictures)"
    )
    output: Path = parser.parse_args().output
    program = shutil.which("chromium")
    if program is None:
        sys.exit("capeval: error: chromium is not installed (on Debian: apt-get install chromium)")
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        report(browser, Path(folder), output)
        with demo_server(Path(folder)) as (address, password):
            server(browser, address, password, output)
        browser.close()


def report(browser: Browser, folder: Path, output: Path) -> None:
    """Take a screenshot of the top of the report of `capeval demo`."""
    subprocess.run([*capeval(), "demo", "--output", str(folder / "report")], check=True, capture_output=True)
    address = (folder / "report" / "report.html").as_uri()
    take_screenshots(browser, output / "report", lambda page: page.goto(address), height=650)


def server(browser: Browser, address: str, password: str, output: Path) -> None:
    """Take screenshots of the leaderboard, a submission and the organizers' overview."""
    board = f"{address}/coco-2015/validation/"

    def submission(page: Page) -> None:
        page.goto(board)
        page.locator("table a[href*='/submissions/']").nth(1).click()

    def overview(page: Page) -> None:
        page.goto(f"{address}/accounts/login/")
        page.get_by_label("Username or email").fill("demo")
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name=re.compile("^Sign in$")).click()
        page.goto(f"{address}/coco-2015/")
        page.get_by_role("link", name="Organize").first.click()

    take_screenshots(browser, output / "leaderboard", lambda page: page.goto(board), height=690)
    take_screenshots(browser, output / "submission", submission, height=860)
    take_screenshots(browser, output / "overview", overview, height=560)


def take_screenshots(browser: Browser, path: Path, go: Callable[[Page], object], *, height: int) -> None:
    """Take screenshots of the top of a page in light and dark mode."""
    for scheme in ("light", "dark"):
        context = browser.new_context(
            viewport={"width": WIDTH, "height": height}, device_scale_factor=SCALE, color_scheme=scheme
        )
        page = context.new_page()
        go(page)
        page.wait_for_load_state("networkidle")
        for image in page.locator("img").all():
            source = image.get_attribute("src") or ""
            if re.match(r"(https?:)?//", source):
                sys.exit(f"capeval: error: {page.url} shows an image from a different site: {source}")
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            few = picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
            few.convert("RGB").save(path.with_name(f"{path.name}-{scheme}.webp"), lossless=True, method=6)
        context.close()


@contextmanager
def demo_server(folder: Path) -> Iterator[tuple[str, str]]:
    """Run the demo server; provide its address and the password of its account."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--folder", str(folder / "server"), "--port", str(port))
    started = subprocess.Popen(
        [sys.executable, "-m", "examples.demo_server", *options],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        said = ""
        for line in started.stdout or ():
            said += line
            if line.startswith("Listening"):
                break
        found = re.search(r"with the password (\S+)", said)
        if found is None:
            sys.exit(f"capeval: error: the demo server did not start:\n{said}")
        yield f"http://127.0.0.1:{port}", found[1]
    finally:
        started.terminate()
        started.wait(SECONDS)


def capeval() -> list[str]:
    """Return the `capeval` command of this Python interpreter."""
    return [sys.executable, "-m", "capeval"]


if __name__ == "__main__":
    main()
