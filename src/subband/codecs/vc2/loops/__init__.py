"""The compiled loops of VC-2."""
