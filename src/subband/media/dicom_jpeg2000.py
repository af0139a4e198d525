"""DICOM's transfer syntaxes of JPEG 2000 and HTJ2K by our own codec: a plug-in of pydicom, and packing of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from subband.codecs.jpeg2000 import decode, encode
from subband.errors import ArgumentError, suggest_names
from subband.typing import Array

__all__ = [
    "DECODER_DEPENDENCIES",
    "PLUGIN",
    "Packing",
    "choose_packing",
    "decode_frame",
    "is_available",
    "register_decoders",
]

#: What pydicom knows our decoder by.
PLUGIN = "subband"

_LOSSLESS, _LOSSY = "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.4.91"
_HT_LOSSLESS, _HT_RPCL, _HT = (f"1.2.840.10008.1.2.4.{number}" for number in (201, 202, 203))

#: What pydicom asks of a plug-in: what has to be installed for each transfer syntax, which is nothing.
DECODER_DEPENDENCIES: dict[str, tuple[str, ...]] = dict.fromkeys((_LOSSLESS, _LOSSY, _HT_LOSSLESS, _HT_RPCL, _HT), ())

# Transfer syntaxes by what they are asked for by: without a loss, and with one.
_SYNTAXES = {
    "jpeg2000": (_LOSSLESS, _LOSSY),
    "htj2k": (_HT_LOSSLESS, _HT),
    "htj2k-rpcl": (_HT_RPCL, None),
}

# PSNR in dB that a quality of 0 stands for, and what each step of it adds.
_LEAST, _STEP = 30.0, 0.4


@dataclass(frozen=True)
class Packing:
    """How pixels are packed.

    Attributes
    ----------
    syntax : str
        The unique identifier of the transfer syntax.
    settings : dict
        Of the codec; see `subband.codecs.jpeg2000.Settings`.
    """

    syntax: str
    settings: dict[str, Any]

    @property
    def is_lossy(self) -> bool:
        """Whether something is lost."""
        return self.syntax in (_LOSSY, _HT)

    @property
    def method(self) -> str:
        """What DICOM calls the compression, where it is lossy."""
        return "ISO_15444_15" if self.syntax == _HT else "ISO_15444_1"

    @property
    def colours(self) -> str:
        """What DICOM calls red, green and blue that are packed so."""
        return "YBR_ICT" if self.is_lossy else "YBR_RCT"

    def pack(self, frame: Array, bits: int) -> bytes:
        """Return the codestream of a frame whose samples have so many bits."""
        return encode(frame, form="j2k", bits=bits, **self.settings)


def choose_packing(codec: str | None, quality: float | None) -> Packing | None:
    """Return how pixels are packed; None if they are not.

    Parameters
    ----------
    codec : {"jpeg2000", "htj2k", "htj2k-rpcl"}, optional
        The last one has resolutions one behind the other, for readers that load the coarse ones first.
    quality : float, optional
        From 0 to 100: a PSNR from 30 to 70 dB. Nothing is lost if it is left out, or 100.

    Raises
    ------
    ArgumentError
        If the codec is none of these, or has no form with a loss.

    Examples
    --------
    >>> choose_packing("htj2k", None).syntax, choose_packing("jpeg2000", 75).settings
    ('1.2.840.10008.1.2.4.201', {'psnr': 60.0})
    """
    if codec is None:
        return None
    if codec not in _SYNTAXES:
        known = ", ".join(_SYNTAXES)
        raise ArgumentError(f"codec={codec!r} does not pack DICOM{suggest_names(codec, _SYNTAXES)}; use one of {known}")
    whole, lossy = _SYNTAXES[codec]
    settings: dict[str, Any] = {"ht": True} if codec.startswith("ht") else {}
    if codec == "htj2k-rpcl":
        # the standard asks for both
        settings |= {"progression": "RPCL", "tlm": True}
    if quality is None or quality == 100:
        return Packing(whole, settings)
    if not 0 <= quality <= 100:
        raise ArgumentError(f"quality={quality:g} is not between 0 and 100")
    if lossy is None:
        raise ArgumentError(f"codec={codec!r} loses nothing; leave quality={quality:g} out, or take 'htj2k'")
    return Packing(lossy, settings | {"psnr": _LEAST + _STEP * quality})


def is_available(uid: str) -> bool:
    """Tell pydicom whether we decode a transfer syntax."""
    return uid in DECODER_DEPENDENCIES


def register_decoders(pydicom: Any) -> None:
    """Have pydicom decode JPEG 2000 and HTJ2K by our codec, beside others that it may have."""
    for uid in DECODER_DEPENDENCIES:
        decoder = pydicom.pixels.get_decoder(pydicom.uid.UID(uid))
        if PLUGIN not in decoder.available_plugins:
            decoder.add_plugin(PLUGIN, (__name__, "decode_frame"))


def decode_frame(src: bytes, runner: Any) -> bytes:
    """Return the samples of a frame, pixel by pixel, as pydicom asks a plug-in.

    `runner` is told what they are then: red, green and blue of those that were mixed, in as many bytes as their bits
    take.
    """
    total = runner.rows * runner.columns * runner.samples_per_pixel
    samples = decode(src, most_pixels=total).upsample()
    if samples.size != total:
        raise ValueError(f"a frame has {samples.shape} samples, and its header says {runner.rows} × {runner.columns}")
    if runner.photometric_interpretation in ("YBR_ICT", "YBR_RCT"):
        runner.set_option("photometric_interpretation", "RGB")
    runner.set_option("planar_configuration", 0)
    runner.set_option("bits_allocated", 8 * samples.dtype.itemsize)
    return np.ascontiguousarray(samples).tobytes()
