"""Each layer imports only layers above it in the table of `docs/architecture.md`, and no modules in a circle."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "subband"
PAGE = ROOT / "docs" / "architecture.md"

MODULES = sorted(SOURCE.rglob("*.py"))

#: A whole string that names a module of ours, or something in it, as those for `importlib` do.
HIDDEN = re.compile(r"subband\.(\w+)((?:\.\w+|\.?\{\})*)(:[\w{}.]+)?")


def read_layers():
    """Return the row of each layer, and what it may import: None for all layers above, else their names."""
    table = PAGE.read_text(encoding="utf-8").partition("## Layers")[2].partition("\n## ")[0]
    height, allowed = {}, {}
    for number, row in enumerate(re.findall(r"^\| (`.*) \|.*\| (.*) \|$", table, re.MULTILINE)):
        for layer in re.findall(r"`(\w+)(?:/|\.py)`", row[0]):
            height[layer] = number
            allowed[layer] = None if row[1] == "layers above" else set(re.findall(r"`(\w+)`", row[1]))
    return height, allowed


HEIGHT, ALLOWED = read_layers()


def name_module(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_module(path): path for path in MODULES}
LAYERS = {name.split(".")[1] for name in NAMES if "." in name} | {"__init__"}


def find_layer(name):
    """Return the layer of a module or of what is in it; the façade is ``__init__``, and so is what it re-exports."""
    layer = [*name.split("."), "__init__"][1]
    return layer if layer in LAYERS else "__init__"


def find_module(name):
    """Return the module that holds a dotted name."""
    while name not in NAMES:
        name = name.rpartition(".")[0]
    return name


def find_imports(tree):
    """Give the dotted names of ours that a module imports, at its top or inside a function, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: write out the whole name of the module"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.partition(".")[0] == "subband")


def find_hidden(tree):
    """Give the strings, filled in or not, that name something of another layer or something private of ours."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            text = node.value
        else:
            continue
        if (match := HIDDEN.fullmatch(text)) and match[1] in LAYERS:
            yield text, node.lineno


def remove_type_imports(tree):
    """Take out what only type checkers import, which may go both ways."""

    class Remover(ast.NodeTransformer):
        def visit_If(self, node):
            if "TYPE_CHECKING" in ast.unparse(node.test):
                return [self.visit(each) for each in node.orelse]
            return self.generic_visit(node)

    return Remover().visit(tree)


def check_layers(name, tree):
    layer = find_layer(name)
    assert layer in HEIGHT, f"give the layer {layer!r} a row in {PAGE.name}"
    for imported, line in find_imports(tree):
        other = find_layer(imported)
        if other == layer:
            continue
        where = f"{name}:{line}: {layer} imports {imported}"
        if other == "__init__":
            # the façade re-exports from layers of all heights, so only the topmost ones may come in by it
            assert HEIGHT[layer] >= HEIGHT["studio"], f"{where} by the façade"
            continue
        assert HEIGHT[other] <= HEIGHT[layer], f"{where}, which lies below it in {PAGE.name}"
        assert ALLOWED[layer] is None or other in ALLOWED[layer], f"{where}, and may import only {ALLOWED[layer]}"
    for text, line in find_hidden(tree):
        assert find_layer(text.replace(":", ".")) == layer, f"{name}:{line} names another layer in the string {text!r}"
        assert "._" not in text.replace(":", "."), f"{name}:{line} names something private in the string {text!r}"


@pytest.mark.parametrize("name", sorted(NAMES))
def test_imports_only_layers_above(name):
    check_layers(name, ast.parse(NAMES[name].read_text(encoding="utf-8")))


def test_every_layer_exists():
    assert set(HEIGHT) == LAYERS


def test_no_modules_import_each_other():
    """Imports inside functions count: one that waits for another module to be complete hides a circle."""
    graph = {}
    for name, path in NAMES.items():
        tree = remove_type_imports(ast.parse(path.read_text(encoding="utf-8")))
        # the façade registers and re-exports; what it loads later is above all
        graph[name] = {find_module(imported) for imported, _ in find_imports(tree)} - {name, "subband"}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("subband.plan", "from subband.engines import get_engine"),
        ("subband.plan", "def f():\n    import subband.cli.denoise"),
        ("subband.media.video", "from subband.wavelets import Wavelet"),
        ("subband.enhance.stages", "import subband"),
        ("subband.enhance.stages", "from subband import denoise"),
        ("subband.arrays.kinds", "integration = 'subband.integrations.dask.dispatch'"),
        ("subband.cli.denoise", "TABLE = {'x': 'subband.enhance.enhancer:Enhancer'}"),
        ("subband.cli.denoise", "import_module(f'subband.enhance.{name}')"),
        ("subband.engines.registry", "TABLE = {'x': 'subband.engines.cpu:_hidden'}"),
    ],
)
def test_refuses(name, program):
    with pytest.raises(AssertionError):
        check_layers(name, ast.parse(program))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("subband.engines.registry", "TABLE = {'cpu': 'subband.engines.cpu:CpuEngine'}"),
        ("subband.arrays.kinds", "raise TypeError('use the one of subband.integrations.torch')"),
        ("subband.enhance.stages", "from subband import errors"),
        ("subband.studio.app", "import subband"),
    ],
)
def test_allows(name, program):
    check_layers(name, ast.parse(program))
