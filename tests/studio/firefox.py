"""Stands for the Firefox of a distribution, which knows nearly all that Playwright asks for over WebDriver BiDi.

Playwright sends one command, `emulation.setMediaFeaturesOverride`, that released versions of Firefox do not have, and
gives up without it. This program starts Firefox and passes on all messages but that one, which it answers itself. It is
started by Playwright as if it were the browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

UNKNOWN = ("emulation.setMediaFeaturesOverride",)
LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


async def pass_on(page, firefox):
    """Pass messages of Playwright to Firefox, and answer those that it does not know."""
    async for text in page:
        message = json.loads(text)
        if message.get("method") in UNKNOWN:
            await page.send(json.dumps({"type": "success", "id": message["id"], "result": {}}))
        else:
            await firefox.send(text)


async def pass_back(firefox, page):
    async for text in firefox:
        await page.send(text)


async def main():
    browser = os.environ.get("SUBBAND_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    process = await asyncio.create_subprocess_exec(browser, *sys.argv[1:], stderr=asyncio.subprocess.PIPE)
    async for line in process.stderr:
        if found := LISTENING.search(line):
            break
    else:
        return await process.wait()
    address = found[1].decode()

    async def drain():
        async for _ in process.stderr:
            pass

    async def speak(page):
        async with connect(f"{address}{page.request.path}", max_size=None) as firefox:
            tasks = [asyncio.create_task(pass_on(page, firefox)), asyncio.create_task(pass_back(firefox, page))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()

    async with serve(speak, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
        draining = asyncio.create_task(drain())
        try:
            return await process.wait()
        finally:
            draining.cancel()
            with contextlib.suppress(ProcessLookupError):
                process.terminate()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
