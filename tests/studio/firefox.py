"""Stands for the Firefox of a distribution, which knows nearly all that Playwright asks for over WebDriver BiDi.

Playwright sends one command, `emulation.setMediaFeaturesOverride`, that some versions of Firefox do not have, and gives
up without it. This program starts Firefox and passes all messages on, and says to Playwright that all is well where
Firefox says that it does not know that command. It is started by Playwright as if it were the browser.
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

OPTIONAL = ("emulation.setMediaFeaturesOverride",)
#: A connection ends when Firefox does, not when a busy machine lets it wait.
LASTING = {"max_size": None, "ping_interval": None}
LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


async def pass_on(page, firefox, optional):
    """Pass messages of Playwright to Firefox, and note those that it may not know."""
    async for text in page:
        message = json.loads(text)
        if message.get("method") in OPTIONAL:
            optional.add(message["id"])
        await firefox.send(text)


async def pass_back(firefox, page, optional):
    """Pass answers of Firefox to Playwright, but none that it does not know what it may not know."""
    async for text in firefox:
        if optional and (message := json.loads(text)).get("id") in optional:
            optional.remove(message["id"])
            if message["type"] == "error":
                text = json.dumps({"type": "success", "id": message["id"], "result": {}})
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
        async with connect(f"{address}{page.request.path}", **LASTING) as firefox:
            optional = set()
            both = (pass_on(page, firefox, optional), pass_back(firefox, page, optional))
            tasks = [asyncio.create_task(each) for each in both]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()

    async with serve(speak, "127.0.0.1", 0, **LASTING) as server:
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
