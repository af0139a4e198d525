"""The studio: images, video and the camera through wavelets, live in a web page.

`subband.studio.app.make_app` makes the server, `subband.studio.serving.serve` runs it; ``subband studio`` is both. What
server and page say to each other stands in `subband.studio.protocol`.
"""

from __future__ import annotations

__all__: list[str] = []
