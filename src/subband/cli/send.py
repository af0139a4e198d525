"""``subband send``: video over the network, as VC-2 in RTP packets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from subband.cli.options import AsJson, DryRun, EngineName, Force, Quiet, offer
from subband.cli.outputs import Reads, Writes, show_plan, show_result
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.media import Source, SourceInfo
    from subband.media.link import LinkSink

app = typer.Typer()

_WAVELETS = ("dd97", "legall53", "dd137", "haar0", "haar1", "fidelity", "daub97")


@app.command()
def send(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="A video, a camera such as camera:0, or test: for a pattern.")
    ],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Destination, as in rtp://host:5004.")],
    bits: Annotated[
        str | None, typer.Option("--bitrate", metavar="R", help="Video: bit rate in bits per second, as in 200M.")
    ] = None,
    quantiser: Annotated[
        int | None,
        typer.Option(min=0, max=116, metavar="Q", help="Video: constant quantiser for all frames; 0 is lossless."),
    ] = None,
    wavelet: Annotated[
        str | None,
        typer.Option(metavar="NAME", autocompletion=offer(*_WAVELETS), help=f"Video: {', '.join(_WAVELETS)}."),
    ] = None,
    levels: Annotated[
        int | None, typer.Option("--level", "-l", min=0, max=12, metavar="N", help="Number of levels; 4 by default.")
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Video: omit trailing zeros, for smaller slices; FFmpeg cannot read them.")
    ] = False,
    packet: Annotated[int, typer.Option(min=100, max=65000, metavar="N", help="Bytes of a packet.")] = 1400,
    pace: Annotated[
        float,
        typer.Option(min=1.0, max=100.0, metavar="X", help="How much faster than the video's rate packets are sent."),
    ] = 2.0,
    sdp: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the session description, for receivers such as FFmpeg."),
        Writes(),
    ] = None,
    chain: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A chain as TOML, applied on the way; see `subband filter`."),
        Reads(),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, metavar="S", help="Duration; to the end by default.")
    ] = None,
    frames: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of frames.")] = None,
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Send live video over the network, as VC-2 in RTP packets.

    `subband send video.mov rtp://127.0.0.1:5004 --bitrate 200M` is received by `subband receive rtp://:5004 copy.mkv`,
    and by FFmpeg with the file of --sdp.
    """
    from time import perf_counter

    from subband.cli.enhancing import read_chain
    from subband.cli.recording import end_by_interrupt, record_camera
    from subband.cli.video import make_settings
    from subband.enhance import Enhancer
    from subband.media import open_sink, open_source, place_output
    from subband.media.link import is_link

    if not is_link(address):
        raise ArgumentError(f"{address!r} is no address of a link; write it as rtp://host:port")
    options: dict[str, Any] = {
        "settings": make_settings(bits, quantiser, wavelet, levels, compact=compact),
        "size": packet,
        "pace": pace,
    }
    if dry_run:
        show_plan([Path(source)], [] if sdp is None else [sdp], as_json=as_json)
        return
    enhancer = Enhancer(()) if chain is None else read_chain(chain)
    sent: list[LinkSink] = []

    def open_input(colours: Literal["rgb", "ycbcr"]) -> Source:
        # nothing is changed without a chain, so that video is best left as it stands
        return open_source(source, colours="ycbcr" if chain is None else colours)

    def open_link(info: SourceInfo) -> LinkSink:
        sink: Any = open_sink(address, info, **options)
        sent.append(sink)
        if sdp is not None:
            with place_output(sdp, overwrite=force) as unfinished:
                unfinished.write_text(sink.session, encoding="ascii", newline="")
        return sent[0]

    begin = perf_counter()
    with end_by_interrupt() as enough:
        record_camera(open_input, open_link, enhancer, seconds=seconds, frames=frames, engine=engine, enough=enough)
    count, lasted = sent[0].count, perf_counter() - begin
    record = {"source": source, "address": address, "frames": count, "seconds": round(lasted, 6)}
    show_result(record, f"{address}: {count} frames in {lasted:.2f} s", as_json=as_json, quiet=quiet)
