"""``subband studio``: images, video and the camera through wavelets, live in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import EngineName, MostPixels
from subband.cli.outputs import Reads
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
def studio(
    media: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MEDIA]...", help="Images and video that the page can open."),
        Reads(),
    ] = None,
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; beyond this machine, a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any that is free.")] = 8765,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A further name of the server, such as that of a proxy before it."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")] = True,
    engine: EngineName = None,
    most_upload: Annotated[
        float, typer.Option("--most-upload", min=0.001, metavar="MB", help="How large an upload may be, in MiB.")
    ] = 256.0,
    most_pixels: MostPixels = None,
) -> None:
    """Open the studio: pick an image, a video or the camera, drag sliders, and see the result at once.

    `subband studio scans/*.png video.mp4` offers these files besides the samples. Ctrl-C ends it.
    """
    from subband.studio.library import MOST_PIXELS
    from subband.studio.serving import Address, serve

    for path in media or []:
        if not path.is_file():
            raise ArgumentError(f"there is no file {str(path)!r}; give images and video that the page can open")

    def tell(address: Address) -> None:
        typer.echo(f"subband studio: {address.url}")
        if address.token is not None:
            typer.echo(
                "Whoever has this address can enter; it is shown only now. What travels is not encrypted.\n"
                "Put a proxy with TLS before it, and give its name here with --name HOST:\n"
                f"  caddy reverse-proxy --from HOST --to localhost:{address.port}\n"
                "Or listen on 127.0.0.1, and come through a tunnel:\n"
                f"  ssh -L {address.port}:localhost:{address.port} {address.name}"
            )
        if browser:
            import webbrowser
            from threading import Timer

            # the browser may come before the server listens to it, and waits then
            Timer(0.3, webbrowser.open, [address.url]).start()

    serve(
        media or [],
        host=listen,
        port=port,
        names=name or [],
        engine=engine,
        most_upload=round(most_upload * 2**20),
        most_pixels=MOST_PIXELS if most_pixels is None else most_pixels,
        on_ready=tell,
    )
