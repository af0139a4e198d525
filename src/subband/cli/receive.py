"""``subband receive``: video from the network, as VC-2 in RTP packets."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from subband.cli.options import AsJson, DryRun, Force, KeepPartial, MostPixels, Quality, Quiet
from subband.cli.outputs import Writes, show_plan, show_result
from subband.errors import ArgumentError

app = typer.Typer()


@app.command()
def receive(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Where to listen: rtp://:5004, or rtp://0.0.0.0:5004 for all.")
    ],
    output: Annotated[
        Path | None, typer.Argument(metavar="[OUT]", help="The video to write; without --view."), Writes()
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Show it in the studio instead of writing it.")] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="With --view: open the browser, or do not.")
    ] = True,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="End after this many seconds without a packet.")
    ] = None,
    patience: Annotated[float, typer.Option(min=0.0, metavar="S", help="How long to wait for missing packets.")] = 0.05,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Duration of the video; until Ctrl-C by default.")
    ] = None,
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of frames.")] = None,
    quality: Quality = None,
    most_pixels: MostPixels = None,
    keep_partial: KeepPartial = False,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Receive video that `subband send` or FFmpeg sends, until Ctrl-C, and report packet loss.

    Only this machine can send to `rtp://:5004`; `rtp://0.0.0.0:5004` listens to the whole network. The sender may come
    later, stop and start again. For a video that shows the time, such as `test:?clock=1`, the delay is reported.
    """
    from time import time

    from subband.cli.recording import end_by_interrupt
    from subband.media import open_sink
    from subband.media.link import LinkSource, is_link
    from subband.media.time_code import measure_delay

    if not is_link(address):
        raise ArgumentError(f"{address!r} is no address of a link; write it as rtp://:port")
    if (output is None) != view:
        raise ArgumentError("the video is either written or shown; give OUT or --view")
    if dry_run:
        show_plan([Path(address)], [] if output is None else [output], as_json=as_json)
        return
    if output is None:
        _show(address, most_pixels, patience, is_quiet=quiet, with_browser=browser)
        return
    options: dict[str, Any] = {"most_pixels": most_pixels, "timeout": timeout, "patience": patience}
    delays: list[float] = []
    with end_by_interrupt() as enough, LinkSource(address, colours="ycbcr", stop=enough, **options) as source:
        most = frames
        if seconds is not None and source.info.rate is not None:
            lasting = max(1, round(seconds * source.info.rate))
            most = lasting if most is None else min(most, lasting)
        with open_sink(output, source.info, quality=quality, overwrite=force, keep_partial=keep_partial) as sink:
            for frame in source:
                delay = measure_delay(frame.pixels, time())
                if delay is not None:
                    delays.append(1e3 * delay)
                sink.write(frame)
                if sink.count == most:
                    break
        count, missing = source.count, source.missing
    record = {"address": address, "output": str(output), "frames": sink.count, "slices_missing": missing}
    record |= asdict(count) | {"delay_ms": round(median(delays), 1) if delays else None}
    text = (
        f"{output}: {sink.count} frames, {count.incomplete} of them incomplete, {missing} slices missing; "
        f"{count.lost} of {count.packets + count.lost} packets lost, jitter {1e3 * count.jitter:.2f} ms"
    )
    if count.overrun:
        text += f"; {count.overrun} of these came too fast to be decoded"
    if delays:
        text += f"; delay {median(delays):.0f} ms, {max(delays):.0f} ms at most"
    show_result(record, text, as_json=as_json, quiet=quiet)


def _show(address: str, most_pixels: int | None, patience: float, *, is_quiet: bool, with_browser: bool) -> None:
    """Show in the studio what comes, until Ctrl-C."""
    from subband.cli.recording import end_by_interrupt
    from subband.cli.studio import tell_address
    from subband.media.link import LinkSource
    from subband.studio.library import Item
    from subband.studio.live import Live
    from subband.studio.serving import serve

    if not is_quiet:
        typer.echo(f"{address}: waiting for a sender")
    with end_by_interrupt() as enough:
        open_link = partial(LinkSource, address, quick=True, most_pixels=most_pixels, patience=patience, stop=enough)
        live = Live(open_link(), open_link)
    item = Item("media", address, address, None, opener=live.view)
    try:
        serve([item], port=None, on_ready=partial(tell_address, names=[], with_browser=with_browser))
    finally:
        enough.set()
        live.close()
