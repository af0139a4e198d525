"""Draw the charts of performance and quality from docs/records: `make docs` runs it.

A chart is plain SVG, so that the same records give the same file on every machine; a test compares them. Its colours
follow the reader's light or dark mode.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
WIDTH, LABEL, BAR, GAP, HEAD, FOOT = 720, 232, 22, 8, 62, 34
STYLE = (
    ".paper{fill:#fff;stroke:#d8dee4}.ink{fill:#1f2328}.pale{fill:#59636e}.ours{fill:#1f6fb2}.theirs{fill:#a9b4bf}"
    ".line{stroke:#d8dee4}@media(prefers-color-scheme:dark){.paper{fill:#14181e;stroke:#30363d}.ink{fill:#e6edf3}"
    ".pale{fill:#9da7b1}.ours{fill:#58a6e8}.theirs{fill:#59636e}.line{stroke:#30363d}}"
)


@dataclass(frozen=True)
class Bar:
    """One bar: what it is of, how long it is, what stands at its end, and whether it is ours."""

    label: str
    value: float
    text: str
    is_ours: bool = True


@dataclass(frozen=True)
class Chart:
    """Horizontal bars that begin at zero, under a title and above a note."""

    title: str
    subtitle: str
    note: str
    bars: list[Bar]
    mark: float | None = None

    def render(self) -> str:
        """Return the chart as SVG."""
        height = HEAD + (BAR + GAP) * len(self.bars) + FOOT
        scale = (WIDTH - LABEL - 96) / max(bar.value for bar in self.bars)
        parts = [
            f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            f'<text class="ink" x="20" y="28" font-size="16" font-weight="600">{escape(self.title)}</text>',
            f'<text class="pale" x="20" y="47" font-size="12.5">{escape(self.subtitle)}</text>',
        ]
        if self.mark is not None:
            x = LABEL + self.mark * scale
            parts.append(f'<path class="line" d="M{x:.1f} {HEAD - 4}V{height - FOOT}" stroke-dasharray="4 3"/>')
        for number, bar in enumerate(self.bars):
            y, length = HEAD + (BAR + GAP) * number, max(bar.value * scale, 1.5)
            kind = "ours" if bar.is_ours else "theirs"
            parts += [
                f'<text class="ink" x="{LABEL - 10}" y="{y + 16}" text-anchor="end">{escape(bar.label)}</text>',
                f'<rect class="{kind}" x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3"/>',
                f'<text class="ink" x="{LABEL + length + 8:.1f}" y="{y + 16}">{escape(bar.text)}</text>',
            ]
        parts.append(f'<text class="pale" x="20" y="{height - 13}" font-size="11.5">{escape(self.note)}</text>')
        body = "\n".join(parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" font-family="system-ui, sans-serif" font-size="13">\n<title>{escape(self.title)}</title>'
            f"<style>{STYLE}</style>\n{body}\n</svg>\n"
        )


def load_part(record: str, part: str) -> tuple[list[dict[str, str]], str]:
    """Return the rows of the first table of a record, by the names of its columns, and the machine."""
    found: dict[str, Any] = json.loads((DOCS / "records" / f"{record}.json").read_text(encoding="utf-8"))[part]
    table = found["tables"][0]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]], found["measured_on"].split(";")[0]


def chart_speed() -> Chart:
    """Transforms on the CPU beside PyWavelets."""
    rows, machine = load_part("performance", "cpu")
    cases = {
        "Image 8192²": "2-D 8192x8192 cdf97 whole 1-level forward",
        "Image 8192², inverse": "2-D 8192x8192 cdf97 whole 1-level inverse",
        "Volume 256³": "3-D 256x256x256 bior4.4 periodization 3-level forward",
        "Image 1080 × 1920": "2-D 1080x1920 cdf97 whole 1-level forward",
        "Image 1080 × 1920, 5 levels": "2-D 1080x1920 cdf97 whole 5-level forward",
        "Image 512²": "2-D 512x512 bior4.4 periodization 1-level forward",
        "Signal of 4 Mi samples, db4": "1-D 4194304 db4 symmetric 1-level forward",
        "Signal of 64 samples, db4": "1-D 64 db4 symmetric 1-level forward",
    }
    speeds = {row["case"]: float(row["× PyWavelets"]) for row in rows}
    bars = [Bar(label, speeds[case], f"{speeds[case]:.3g}×") for label, case in cases.items()]
    return Chart(
        "Speed of transforms, PyWavelets = 1", "float32, CDF 9/7 unless named; more is better", machine, bars, mark=1
    )


def chart_gpu() -> Chart:
    """Transforms on the GPU beside a copy of the same bytes."""
    rows, machine = load_part("performance", "cuda")
    cases = {
        "Haar, image 8192²": "2-D 8192x8192 haar periodization 1-level forward",
        "CDF 9/7, image 8192²": "2-D 8192x8192 cdf97 whole 1-level forward",
        "CDF 9/7, inverse": "2-D 8192x8192 cdf97 whole 1-level inverse",
        "db5, image 8192²": "2-D 8192x8192 db5 periodization 1-level forward",
        "CDF 9/7, volume 512³": "3-D 512x512x512 cdf97 whole 1-level forward",
        "CDF 9/7, 5 levels": "2-D 8192x8192 cdf97 whole 5-level forward",
    }
    # the first row of a name is the call that users write
    speeds = {row["case"]: float(row["of copy"]) for row in reversed(rows)}
    bars = [Bar("plain copy", 1, "1", is_ours=False)]
    bars += [Bar(label, speeds[case], f"{speeds[case]:.2f}") for label, case in cases.items()]
    return Chart("Speed on a GPU, as a part of a copy's", "one call as users write it; 1 is the limit", machine, bars)


def chart_frames() -> Chart:
    """Denoised frames per second."""
    rows, machine = load_part("performance", "enhance cpu")
    (default,) = (row for row in rows if row["case"].startswith("default"))
    theirs = 1000 / float(default["scikit-image ms"])
    bars = [Bar("scikit-image, BayesShrink", theirs, f"{theirs:.2g} fps", is_ours=False)]
    bars += [
        Bar(f"subband, {row['case']}", float(row["frames/s"]), f"{float(row['frames/s']):.3g} fps") for row in rows
    ]
    return Chart("Denoising 1080p colour video", "frames per second, in memory; more is better", machine, bars)


def chart_torch() -> Chart:
    """Gradients in Torch beside the faster of two peers."""
    rows, machine = load_part("performance", "torch cuda")
    bars = []
    for row in rows:
        if row["task"] == "forward and backward":
            speed = float(row["× faster peer"])
            bars.append(Bar(row["batch"], speed, f"{speed:.1f}×"))
    return Chart(
        "Forward and backward in PyTorch, the faster of two peers = 1",
        "peers: ptwt and pytorch_wavelets; more is better",
        machine,
        bars,
        mark=1,
    )


def chart_denoising() -> Chart:
    """What denoising gains on photographs."""
    rows, _ = load_part("quality", "photographs")
    (mean,) = (row for row in rows if row["image"] == "mean" and row["sigma"] == "all")
    noisy = float(mean["noisy"])
    bars = []
    for label, column in (
        ("scikit-image", "scikit-image"),
        ("subband, bayes", "bayes"),
        ("subband, default", "bivariate"),
        ("subband, wiener", "wiener"),
        ("subband, best", "best"),
        ("BM3D", "BM3D"),
    ):
        if mean.get(column):
            gain = float(mean[column]) - noisy
            bars.append(Bar(label, gain, f"+{gain:.2f} dB", label.startswith("subband")))
    note = f"Noise of 10, 25 and 50 out of 255; the noisy images have {noisy:.1f} dB"
    return Chart("What denoising gains in PSNR", "mean of six photographs; more is better", note, bars)


def chart_speckle() -> Chart:
    """What filters gain on a simulated ultrasound scan."""
    rows, _ = load_part("quality", "speckle")
    scan, *filters = rows
    noisy = float(scan["PSNR"])
    gains = [(row["filter"], float(row["PSNR"]) - noisy) for row in filters]
    bars = [Bar(name, gain, f"+{gain:.1f} dB", name == "subband") for name, gain in gains]
    note = f"Each other filter is tuned to the clean image; the scan has {noisy:.1f} dB"
    return Chart("What filters of speckle gain in PSNR", "simulated ultrasound scan; more is better", note, bars)


CHARTS = {
    "speed": chart_speed,
    "gpu": chart_gpu,
    "frames": chart_frames,
    "torch": chart_torch,
    "denoising": chart_denoising,
    "speckle": chart_speckle,
}


def find_path(name: str) -> Path:
    """Return the file of a chart."""
    return DOCS / "images" / f"chart-{name}.svg"


if __name__ == "__main__":
    for name, make in CHARTS.items():
        find_path(name).write_text(make().render(), encoding="utf-8")
