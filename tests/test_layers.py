"""Each room of the house imports only rooms above it; a cycle between ideas would show here first."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "subband"

#: The rooms from the ground up. A line may import the lines before it, and modules of one line each other.
STOREYS = [
    {"_version", "errors", "typing"},
    {"outputs"},
    {"data"},
    {"wavelets"},
    {"boundary"},
    {"pairs"},
    {"plan"},
    {"stationary"},
    {"schedule"},
    {"arrays"},
    {"pyramid_files"},
    {"pyramid"},
    {"kernels"},
    {"engines"},
    {"testing"},
    {"transforms"},
    {"enhance"},
    {"edit"},
    {"codecs"},
    {"media"},
    {"pipeline"},
    {"integrations"},
    {"studio"},
    {"bench"},
    {"cli"},
    {"__main__"},
]

#: Rooms that lie low but may import even less than what is below them.
ONLY = {
    "data": {"errors"},
    "arrays": {"errors", "typing"},
    "media": {"_version", "codecs", "errors", "outputs", "typing"},
}

HEIGHT = {room: height for height, rooms in enumerate(STOREYS) for room in rooms}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def find_room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def find_imports(path):
    """Give the rooms that a module imports, at its top or inside a function, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "subband":
            names = [f"subband.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "subband":
                yield rest.partition(".")[0], node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_imports_only_what_lies_below(path):
    room = find_room(path)
    assert room in HEIGHT, f"give the room {room!r} a place in STOREYS"
    for imported, line in find_imports(path):
        where = f"{path.relative_to(SOURCE)}:{line}"
        if imported == room:
            continue
        # The façade re-exports from rooms of all heights, so only the topmost ones may come in by it.
        assert imported in HEIGHT or HEIGHT[room] >= HEIGHT["studio"], f"{where} imports subband.{imported}"
        if imported in HEIGHT:
            assert HEIGHT[imported] <= HEIGHT[room], f"{where}: {room} imports {imported}, which lies above it"
        assert room not in ONLY or imported in ONLY[room], f"{where}: {room} may import only {ONLY[room]}"
