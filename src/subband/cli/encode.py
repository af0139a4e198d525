"""``subband encode``: an image or a video as JPEG 2000 or HTJ2K, a video as VC-2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subband.cli.options import AsJson, DryRun, EngineName, Force, MostPixels, Quiet, offer
from subband.cli.outputs import Reads, Writes, show_plan, show_result
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.media import Still

app = typer.Typer()

_ORDERS = ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
_WAVELETS = ("dd97", "legall53", "dd137", "haar0", "haar1", "fidelity", "daub97")
_STYLES = ("bypass", "reset", "terminate", "causal", "predictable", "segmentation")


@app.command()
def encode(
    source: Annotated[
        Path,
        typer.Argument(
            exists=True, dir_okay=False, metavar="IN", help="An image: PNG, TIFF, JPEG, JP2, ...; or a video."
        ),
        Reads(),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help=".jp2 with boxes, .jph with --ht, .j2k for the codestream; for video .mj2, .mxf, .vc2 or .mkv.",
        ),
        Writes(),
    ],
    lossless: Annotated[
        bool, typer.Option("--lossless", help="Lossless; the default without --bpp, --bytes and --psnr.")
    ] = False,
    rate: Annotated[
        str | None,
        typer.Option("--bpp", metavar="B", help="Bits per pixel; several, as in 0.25,0.5,1, make as many layers."),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--bytes", metavar="N", help="Size of the file in bytes; several make layers.")
    ] = None,
    psnr: Annotated[str | None, typer.Option(metavar="DB", help="PSNR in dB; several make layers.")] = None,
    layers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of quality layers.")] = None,
    levels: Annotated[
        int | None,
        typer.Option("--level", "-l", min=0, max=32, metavar="N", help="Number of levels; 5 by default."),
    ] = None,
    tile: Annotated[str | None, typer.Option(metavar="RxC", help="Rows and columns of tiles, as in 1024x1024.")] = None,
    block: Annotated[str, typer.Option(metavar="RxC", help="Rows and columns of code-blocks.")] = "64x64",
    precincts: Annotated[
        str | None,
        typer.Option(
            metavar="RxC,...", help="Rows and columns of precincts, from the finest resolution to coarser ones."
        ),
    ] = None,
    progression: Annotated[
        str, typer.Option(metavar="ORDER", autocompletion=offer(*_ORDERS), help=f"{', '.join(_ORDERS)}.")
    ] = "LRCP",
    roi: Annotated[
        str | None,
        typer.Option(
            metavar="T,L,B,R", help="Region of interest, exact before all else: first row, column, last ones."
        ),
    ] = None,
    style: Annotated[
        str, typer.Option(metavar="NAMES", autocompletion=offer(*_STYLES), help=f"Some of {', '.join(_STYLES)}.")
    ] = "",
    ht: Annotated[
        bool,
        typer.Option("--ht", help="High-throughput block coder (HTJ2K), many times as fast; the default for .jph."),
    ] = False,
    colour: Annotated[
        bool | None,
        typer.Option(
            "--mct/--no-mct",
            help="Apply the multiple component (colour) transform; applied by default where it can be.",
        ),
    ] = None,
    sop: Annotated[bool, typer.Option("--sop", help="Write a marker before each packet.")] = False,
    eph: Annotated[bool, typer.Option("--eph", help="Write a marker after each packet header.")] = False,
    plt: Annotated[bool, typer.Option("--plt", help="Write the lengths of packets, for random access.")] = False,
    tlm: Annotated[bool, typer.Option("--tlm", help="Write the lengths of tiles, for random access.")] = False,
    tile_parts: Annotated[bool, typer.Option("--tile-parts", help="Divide tiles into parts by resolution.")] = False,
    step: Annotated[
        float | None, typer.Option(metavar="S", help="Step of the lossy quantiser in grey levels, instead of a target.")
    ] = None,
    dpi: Annotated[float | None, typer.Option(min=0.001, metavar="D", help="Resolution in samples per inch.")] = None,
    icc: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, metavar="FILE", help="Colour profile; that of IN by default."),
        Reads(),
    ] = None,
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="Comment in the codestream.")] = None,
    bitrate: Annotated[
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
    compact: Annotated[
        bool, typer.Option("--compact", help="Video: omit trailing zeros, for smaller slices; FFmpeg cannot read them.")
    ] = False,
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    most_pixels: MostPixels = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Encode an image or a video as JPEG 2000, or a video as VC-2, without a loss or to a size, quality or rate.

    `subband encode scan.tiff scan.jp2` loses nothing; `subband encode photo.png photo.jp2 --bpp 0.5` takes half a bit
    for each pixel, `subband encode scan.tiff scan.jph` is HTJ2K, `subband encode video.mov video.mj2` Motion JPEG 2000,
    and `subband encode video.mov video.vc2 --bitrate 200M` takes so many bits in a second.
    """
    from time import perf_counter

    from subband.cli.decode import split_region
    from subband.cli.progress import watch_progress
    from subband.cli.video import copy_video, is_vc2, make_settings, may_hold_jpeg2000, may_hold_vc2
    from subband.codecs.jpeg2000 import encode as encode_image
    from subband.codecs.jpeg2000.files import ENDINGS, choose_form
    from subband.media import place_output, read_still
    from subband.media.jpeg2000 import pack_metadata
    from subband.pipeline.relay import Progress

    ending = output.suffix.lower()
    if may_hold_vc2(output):
        still_only = {
            "--bpp": rate,
            "--bytes": size,
            "--psnr": psnr,
            "--layers": layers,
            "--tile": tile,
            "--step": step,
        }
        given = [name for name, value in still_only.items() if value is not None]
        if given:
            raise ArgumentError(f"{given[0]} is for JPEG 2000; VC-2 takes --bitrate, --quantiser or --lossless")
        coding = make_settings(bitrate, 0 if lossless else quantiser, wavelet, levels, compact=compact)
        options: dict[str, Any] = {"settings": coding} | ({} if is_vc2(output) else {"codec": "vc2"})
        copy_video(source, output, options, force, dry_run, most_pixels, as_json, quiet)
        return
    is_video = may_hold_jpeg2000(output)
    if ending not in ENDINGS and not is_video:
        raise ArgumentError(
            f"{output.name!r} does not end like JPEG 2000; take one of {', '.join(ENDINGS)}, or .mj2 or .mxf for video"
        )
    settings: dict[str, Any] = {
        "lossless": lossless or None,
        "rate": _split_numbers("--bpp", rate),
        "size": _split_numbers("--bytes", size),
        "psnr": _split_numbers("--psnr", psnr),
        "layers": layers,
        "levels": levels,
        "tile": _split_sizes("--tile", tile)[0] if tile else None,
        "block": _split_sizes("--block", block)[0],
        "precincts": _split_sizes("--precincts", precincts) if precincts else None,
        "progression": progression,
        "roi": split_region("--roi", roi),
        "style": [name.strip() for name in style.split(",") if name.strip()],
        "ht": ht or choose_form(ending) == "jph",
        "colour": colour,
        "sop": sop,
        "eph": eph,
        "plt": plt,
        "tlm": tlm,
        "tile_parts": "R" if tile_parts else "",
        "step": step,
        "comment": comment,
    }
    if bitrate is not None or quantiser is not None or wavelet is not None:
        raise ArgumentError("--bitrate, --quantiser and --wavelet are for video, in a file that ends in .vc2 or .mkv")
    if is_video:
        if icc is not None or dpi is not None:
            raise ArgumentError("--icc and --dpi are for images, not for video")
        given_video = {name: value for name, value in settings.items() if value not in (None, False, "", [])}
        options = {"codec": "jpeg2000", "settings": given_video}
        copy_video(source, output, options, force, dry_run, most_pixels, as_json, quiet)
        return
    if dry_run:
        show_plan([source], [output], as_json=as_json)
        return
    still = read_still(source, most_pixels=most_pixels)
    form = choose_form(ending)
    boxes = _describe(still, icc.read_bytes() if icc else None, dpi) if form != "j2k" else {}
    begin = perf_counter()
    with watch_progress(is_quiet=as_json or quiet) as observe_file:
        observe = observe_file(source.name)

        def watch(part: float) -> None:
            observe(Progress(round(100 * part), 100, perf_counter() - begin))

        data = encode_image(_join(still), form=form, engine=engine, on_progress=watch, **boxes, **settings)
    if boxes and size is None:  # what was asked for as a size holds for the file
        data += pack_metadata(still.exif, still.metadata)
    seconds = perf_counter() - begin
    with place_output(output, overwrite=force) as unfinished:
        unfinished.write_bytes(data)
    rows, columns = still.pixels.shape[:2]
    bits = 8 * len(data) / (rows * columns)
    ratio = (still.pixels.nbytes + (0 if still.alpha is None else still.alpha.nbytes)) / len(data)
    record = {"source": str(source), "output": str(output), "bytes": len(data), "bits_per_pixel": round(bits, 6)}
    record |= {"ratio": round(ratio, 4), "seconds": round(seconds, 6)}
    text = f"{output}: {len(data)} bytes, {bits:.3f} bpp, {ratio:.1f} : 1, {seconds:.2f} s"
    show_result(record, text, as_json=as_json, quiet=quiet)


def _join(still: Still) -> Any:
    """Return pixels and opacity as one array."""
    import numpy as np

    if still.pixels.dtype.kind == "f":
        raise ArgumentError("the image holds floating point, which JPEG 2000 does not; convert it to 16 bits first")
    return still.pixels if still.alpha is None else np.dstack([still.pixels, still.alpha])


def _describe(still: Still, icc: bytes | None, dpi: float | None) -> dict[str, Any]:
    """Return what the boxes of a file say."""
    from subband.media.jpeg2000 import order_resolution

    return {"alpha": still.alpha is not None, "icc": icc or still.icc, "dpi": dpi or order_resolution(still.metadata)}


def _split_numbers(name: str, text: str | None) -> list[float] | float | None:
    """Read one number, or several between commas."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(f"{name} {text!r} is not a number, or several between commas") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _split_sizes(name: str, text: str) -> list[tuple[int, int]]:
    """Read sizes such as 64x64, several between commas; a single number is a square."""
    sizes = []
    for part in text.split(","):
        rows, _, columns = part.lower().partition("x")
        if not rows.strip().isdecimal() or not (columns or rows).strip().isdecimal():
            raise ArgumentError(f"{name} {text!r} is not a size such as 64x64 or 128")
        sizes.append((int(rows), int(columns or rows)))
    return sizes
