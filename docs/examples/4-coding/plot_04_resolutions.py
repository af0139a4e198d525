"""
One file, many resolutions
==========================

A JPEG 2000 file can be decoded at a fraction of its size, or for one region only, without reading the rest.
"""

from io import BytesIO

import matplotlib.pyplot as plt

import subband
from subband.codecs import jpeg2000

photograph = subband.data.photograph()
data = jpeg2000.encode(photograph, tile=(128, 128), progression="RPCL")
parts = {f"reduce={reduce}": jpeg2000.imread(BytesIO(data), reduce=reduce) for reduce in (4, 3, 2)}
parts["region"] = jpeg2000.imread(BytesIO(data), region=(20, 150, 230, 330))

figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), layout="constrained")
for panel, (name, image) in zip(axes, parts.items(), strict=True):
    panel.imshow(image, interpolation="nearest")
    panel.set_title(f"{name}: {image.shape[0]} × {image.shape[1]}")
    panel.axis("off")
plt.show()
