"""Denoise a clip by name, then look at its first frame."""

import os

import subband

enhancer = subband.enhance.Enhancer([subband.enhance.Denoise(strength=0.8)])
subband.enhance_file("clip.mp4", "clean.mp4", enhancer)
assert os.path.getsize("clean.mp4") > 0
frame = next(iter(subband.media.open_video("clean.mp4")))
assert frame is not None
