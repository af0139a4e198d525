"""The engine that the documentation writes passes the tests that it recommends."""

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "tutorial-engine.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
NAMESPACE = {"__name__": "tutorial"}
exec(compile("\n".join(PROGRAMS), str(PAGE), "exec"), NAMESPACE)


class TestSliding(NAMESPACE["TestSliding"]):
    # All wavelets at all lengths take a minute, and say little more.
    wavelets = ("haar", "db3", "cdf97", "rbio3.1", "db20")
    lengths = (1, 2, 17, 64)
