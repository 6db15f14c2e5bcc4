#!/usr/bin/env python3
"""The pictures of docs/, taken of real output: pictures.py PROGRAM VENV FOLDER (as pages_test.py is called).

Writes report.png (the first screens of a report), report_timeline.png (part of its timeline, in dark mode) and
advice.png (a page of `advise`) into FOLDER.
"""
import os
import pathlib
import sys
import tempfile

import pages_test as pages

SIZE = {"width": 1000, "height": 1250}


def take(program, folder):
    from playwright.sync_api import sync_playwright
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as driver:
        scratch = pathlib.Path(scratch)
        for command in ("replay", "advise"):
            pages.tandem(program, command, pages.BERT, "--report", scratch / f"{command}.html", "--quiet")
        browser = driver.chromium.launch(executable_path=pages.find_chromium(), args=["--no-sandbox"] if os.geteuid() == 0 else [])
        for name, command, scheme in (("report", "replay", "light"), ("report_timeline", "replay", "dark"), ("advice", "advise", "light")):
            reader = pages.Reader(browser, scratch / f"{command}.html", viewport=SIZE, color_scheme=scheme)
            reader.tab.wait_for_timeout(1000)  # charts end their animation
            if name == "report_timeline":
                section = reader.tab.locator("section", has=reader.tab.get_by_role("heading", name="Timeline", exact=True)).first
                for _ in range(6):
                    section.get_by_text("zoom in").click()
                reader.tab.locator(".tracks canvas").hover(position={"x": 400, "y": 50})
                section.screenshot(path=folder / f"{name}.png")
            else:
                reader.tab.screenshot(path=folder / f"{name}.png")
            reader.close()
        browser.close()


if __name__ == "__main__":
    program, venv, folder = map(os.path.abspath, sys.argv[1:])
    pages.reach_playwright(venv)
    os.chdir(pages.ROOT)  # pages name their traces as they were given
    take(program, pathlib.Path(folder))
