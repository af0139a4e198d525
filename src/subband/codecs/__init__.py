"""Image codecs built on the transforms."""
