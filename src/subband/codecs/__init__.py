"""Codecs: compressed pictures that stand on the transforms."""
