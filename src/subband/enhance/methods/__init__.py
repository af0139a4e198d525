"""Denoising methods, one file each; a new file in this folder is a new method everywhere.

A method is an object that says what it is called, what it must know before it can decide, how far it looks, and how
it shrinks a band. Nobody else knows its name: images in memory, video, volumes in blocks, Dask arrays, the studio, the
command line, benchmarks and the tables of the documentation ask the object.
"""

from __future__ import annotations

from subband.enhance.methods.base import Band, DecidingMethod, Method, Part
from subband.enhance.methods.lookup import find_method, list_methods, make_table, register_method

__all__ = ["Band", "DecidingMethod", "Method", "Part", "find_method", "list_methods", "make_table", "register_method"]
