"""``subband receive``: video from the network, as VC-2 in RTP packets."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

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
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The video that is written."), Writes()],
    timeout: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="End after so long without a packet.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0.0, metavar="S", help="How much video.")] = None,
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="How many frames.")] = None,
    quality: Quality = None,
    most_pixels: MostPixels = None,
    keep_partial: KeepPartial = False,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Receive video that `subband send` or FFmpeg sends, until Ctrl-C, and tell what was lost on the way.

    Only this machine can send to `rtp://:5004`; `rtp://0.0.0.0:5004` listens to the whole network. The sender may come
    later, stop and begin again.
    """
    from subband.cli.recording import end_by_interrupt
    from subband.media import open_sink
    from subband.media.link import LinkSource, is_link

    if not is_link(address):
        raise ArgumentError(f"{address!r} is no address of a link; write it as rtp://:port")
    if dry_run:
        show_plan([Path(address)], [output], as_json=as_json)
        return
    with (
        end_by_interrupt() as enough,
        LinkSource(address, colours="ycbcr", most_pixels=most_pixels, timeout=timeout, stop=enough) as source,
    ):
        most = frames
        if seconds is not None and source.info.rate is not None:
            lasting = max(1, round(seconds * source.info.rate))
            most = lasting if most is None else min(most, lasting)
        with open_sink(output, source.info, quality=quality, overwrite=force, keep_partial=keep_partial) as sink:
            for frame in source:
                sink.write(frame)
                if sink.count == most:
                    break
        count, missing = source.count, source.missing
    record = {"address": address, "output": str(output), "frames": sink.count, "slices_missing": missing}
    record |= asdict(count)
    text = (
        f"{output}: {sink.count} frames, {count.incomplete} of them incomplete, {missing} slices missing; "
        f"{count.lost} of {count.packets + count.lost} packets lost, jitter {1e3 * count.jitter:.2f} ms"
    )
    show_result(record, text, as_json=as_json, quiet=quiet)
