"""Enhance all photographs of a folder with one call."""

import os

import subband

enhancer = subband.enhance.Enhancer([subband.enhance.Denoise(), subband.enhance.Sharpen()])
subband.enhance_file("photos", "enhanced", enhancer)
assert sorted(os.listdir("enhanced")) == sorted(os.listdir("photos"))
