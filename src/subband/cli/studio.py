"""``subband studio``: images, video and the camera through wavelets, live in the browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subband.cli.options import EngineName, MostPixels
from subband.cli.outputs import Reads
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.studio.serving import Address

app = typer.Typer()


@app.command()
def studio(
    media: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MEDIA]...", help="Images, video, volumes, and folders of them, that the page can open."
        ),
        Reads(),
    ] = None,
    listen: Annotated[str, typer.Option(metavar="ADDRESS", help="Network address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="N", help="8765 or the next free port by default; 0 takes any free port."
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Further host name of the server, such as that of a proxy in front of it."),
    ] = None,
    token: Annotated[
        bool,
        typer.Option(
            "--token/--no-token",
            help="Require the token of the printed address, or admit all accounts of this machine.",
        ),
    ] = True,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser, or do not.")] = True,
    engine: EngineName = None,
    most_upload: Annotated[
        float, typer.Option("--most-upload", min=0.001, metavar="MIB", help="Largest upload, in MiB.")
    ] = 256.0,
    most_pixels: MostPixels = None,
) -> None:
    """Open the studio: pick an image, a video or the camera, drag sliders, and see the result at once.

    `subband studio scans/*.png video.mp4` offers these files besides the samples. Ctrl-C ends it.
    """
    from subband.media.limits import MOST_PIXELS_VARIABLE, choose_most_pixels
    from subband.studio.library import MOST_PIXELS
    from subband.studio.serving import serve

    for path in media or []:
        if not path.exists():
            raise ArgumentError(f"there is no file {str(path)!r}; give images and video that the page can open")

    is_limited = most_pixels is not None or MOST_PIXELS_VARIABLE in os.environ

    serve(
        media or [],
        host=listen,
        port=port,
        names=name or [],
        with_token=token,
        engine=engine,
        most_upload=round(most_upload * 2**20),
        most_pixels=choose_most_pixels(most_pixels) if is_limited else MOST_PIXELS,
        on_ready=partial(tell_address, names=name or [], with_browser=browser),
        on_problem=lambda problem: typer.echo(f"subband studio: {problem}", err=True),
    )


def tell_address(address: Address, *, names: Sequence[str], with_browser: bool) -> None:
    """Say where the studio is, and open the browser there."""
    from subband.studio.security import is_loopback

    typer.echo(f"subband studio: {address.url}")
    if names or not is_loopback(address.host):
        typer.echo(
            "Whoever has this address can enter; it is shown only now. What travels is not encrypted.\n"
            "Put a proxy with TLS before it, and give its name here with --name HOST:\n"
            f"  caddy reverse-proxy --from HOST --to localhost:{address.port}\n"
            "Or listen on 127.0.0.1, and come through a tunnel:\n"
            f"  ssh -L {address.port}:localhost:{address.port} {address.name}"
        )
    if with_browser:
        import webbrowser
        from threading import Timer

        # the browser may come before the server listens to it, and waits then
        Timer(0.3, webbrowser.open, [address.url]).start()
