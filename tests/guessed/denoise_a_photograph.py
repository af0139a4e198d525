"""Read a photograph by its name, denoise it, write it: paths are strings."""

import subband
from subband import media

image = media.read_still("photo.jpg")
media.write_still("clean.png", subband.denoise(image))
again = media.read_still("clean.png")
assert again.shape == image.shape
