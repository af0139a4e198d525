"""``subband reconstruct``: the image that saved coefficients were made from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subband.cli.options import AsJson, DryRun, EngineName, Force, Quiet
from subband.cli.outputs import Reads, Writes, show_plan, show_result

app = typer.Typer()


@app.command()
def reconstruct(
    coefficients: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            metavar="COEFFS",
            help="Coefficients from `subband decompose --save`.",
        ),
        Reads(),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The image."), Writes()],
    engine: EngineName = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Turn saved coefficients back into the image, in its own size, depth and transparency."""
    import subband
    from subband.cli.coefficients import load_coefficients
    from subband.media import write_still

    if dry_run:
        show_plan([coefficients], [output], as_json=as_json)
        return
    pyramid, empty, fixed_bits = load_coefficients(coefficients)
    if fixed_bits is None:
        pixels = subband.reconstruct(pyramid, engine=engine)
    else:
        from subband.enhance import FixedPoint

        plan = pyramid.plan
        pixels = FixedPoint(plan.wavelets[0], fixed_bits, plan.modes[0]).inverse(pyramid, engine)
    write_still(output, empty.replace_pixels(pixels), overwrite=force)
    rows, columns = pyramid.shape[:2]
    bits = empty.pixels.dtype.itemsize * 8
    record = {"source": str(coefficients), "output": str(output), "rows": rows, "columns": columns, "bits": bits}
    show_result(record, f"{output}: {columns} × {rows} pixels, {bits} bits", as_json=as_json, quiet=quiet)
