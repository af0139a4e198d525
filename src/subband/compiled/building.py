"""Compile kernels in advance: ``python -m subband.compiled.building FOLDER``.

What is compiled is listed in ``signatures.txt``, a function and its arguments on each line. Every function becomes an
object of its own, with an entry that needs no Numba, and all that were compiled for one processor go into one file.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from subband.compiled.container import Container, Contents, Item, write_container
from subband.compiled.kinds import ADDRESSES, format_kinds, parse_kinds
from subband.compiled.library import PROCESSOR, describe_interface, digest_sources, list_missing

__all__ = ["LEVELS", "SIGNATURES", "Level", "build", "list_sources", "read_signatures", "write_signatures"]

PACKAGE = Path(__file__).parent.parent

SIGNATURES = Path(__file__).with_name("signatures.txt")


@dataclass(frozen=True)
class Level:
    """A kind of processor that kernels are compiled for: LLVM's name for it, and what it must be able to do."""

    processor: str
    features: tuple[str, ...]


_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

_ANY = Level("generic", ())

#: The levels of each machine, by the name that Python has for it; files are tried from the last name to the first.
LEVELS = {
    "x86_64": (_ANY, Level("x86-64-v3", _V3), Level("x86-64-v4", _V4)),
    "amd64": (_ANY, Level("x86-64-v3", _V3), Level("x86-64-v4", _V4)),
    "aarch64": (_ANY,),
    "arm64": (_ANY,),
}


def build(folder: Path, levels: Iterable[Level], jobs: int = 1) -> list[Path]:
    """Compile all kernels for some levels and return the files.

    Each level is compiled in processes of its own, because Numba asks once for which processor it compiles.

    Parameters
    ----------
    folder : Path
        Where the files go; made if there is none.
    levels : iterable of Level
        For which processors.
    jobs : int
        How many processes work at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for level in levels:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch:
            parts = [Path(scratch) / f"{k}.part" for k in range(jobs)]
            workers = [
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        __spec__.name,
                        str(part),
                        "--share",
                        f"{k}/{jobs}",
                        "--level",
                        level.processor,
                    ],
                    env=_make_environment(level),
                )
                for k, part in enumerate(parts)
            ]
            for worker in workers:
                worker.wait()
            if any(worker.returncode for worker in workers):
                raise RuntimeError(f"kernels for {level.processor} could not be compiled; see the lines above")
            path = folder / f"{level.processor}.kernels"
            unfinished = path.with_suffix(".part")
            _merge(parts, unfinished)
            unfinished.replace(path)
        made.append(path)
        size, seconds = path.stat().st_size / 2**20, time.perf_counter() - start
        _tell(f"{path.name}: {size:.1f} MiB in {seconds:.0f} s\n")
    return made


def _tell(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _make_environment(level: Level) -> dict[str, str]:
    own = {PROCESSOR: level.processor, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
    paths = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **own, "SUBBAND_KERNELS": "0", "PYTHONPATH": paths}


def _merge(parts: list[Path], path: Path) -> None:
    containers = [Container(part) for part in parts]
    pairs = [(item, box.read(item)) for box in containers for item in box.contents.items]
    sources = {module: files for box in containers for module, files in box.contents.sources.items()}
    missing = set(read_signatures()) - {(item.module, item.function, item.kinds) for item, _ in pairs}
    if missing:
        raise RuntimeError(f"nobody has compiled {sorted(missing)}")
    first = containers[0].contents
    contents = Contents(first.processor, first.features, first.interface, sources, [item for item, _ in pairs])
    write_container(path, contents, [data for _, data in pairs])


def _is_current(path: Path) -> bool:
    """Tell whether a file holds all that is asked for, compiled from the sources that there are."""
    try:
        contents = Container(path).contents
        found = [(item.module, item.function, item.kinds) for item in contents.items]
        files = {name: digest for files in contents.sources.values() for name, digest in files.items()}
        is_fresh = digest_sources(list(files)) == files
    except (OSError, ValueError):
        return False
    return is_fresh and sorted(found) == sorted(read_signatures()) and contents.interface == describe_interface()


def read_signatures() -> list[tuple[str, str, str]]:
    """Return module, function and kinds of everything that is compiled in advance."""
    lines = SIGNATURES.read_text(encoding="utf-8").splitlines()
    fields = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(*name.rpartition(".")[::2], kinds) for name, kinds in fields]


def write_signatures(rows: Iterable[tuple[str, str, str]]) -> None:
    """Write the list of everything that is to be compiled in advance: module, function and kinds."""
    lines = [f"{module}.{function} {kinds}" for module, function, kinds in sorted(rows)]
    SIGNATURES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def list_sources(module: str) -> list[str]:
    """Return the files of the package that a module is made of: its own, and those of all that it imports of ours."""
    found: list[str] = []
    waiting = [module]
    while waiting:
        path = PACKAGE.parent / Path(*waiting.pop().split("."))
        path = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        name = path.relative_to(PACKAGE).as_posix()
        if name in found or not path.exists():
            continue
        found.append(name)
        waiting.extend(_list_imports(ast.parse(path.read_text(encoding="utf-8"))))
    return sorted(found)


def _list_imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("subband."):
            yield node.module
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


# --- One process, which compiles its share. ---


def _compile_share(path: Path, processor: str, share: int, shares: int) -> None:
    wanted = read_signatures()
    # neighbours share the loops that they are made of, so each process gets whole modules, the largest first
    counts = Counter(module for module, *_ in wanted)
    modules = sorted(counts, key=lambda name: (-counts[name], name))
    own = [row for row in wanted if modules.index(row[0]) % shares == share]
    items, objects = [], []
    for number, (module, function, kinds) in enumerate(own, 1):
        if sys.stderr.isatty():
            _tell(f"\rcompiling {number} of {len(own)} kernels for {processor} ")
        symbol = f"subband_{function}_{number}"
        code, returns = _compile(module, function, kinds, symbol)
        objects.append(code)
        items.append(Item(module, function, kinds, returns, symbol))
    features = next(level.features for level in LEVELS[platform.machine().lower()] if level.processor == processor)
    sources = {module: digest_sources(list_sources(module)) for module, *_ in own}
    write_container(path, Contents(processor, list(features), describe_interface(), sources, items), objects)


def _compile(module: str, function: str, kinds: str, symbol: str) -> tuple[bytes, str]:
    """Return the object code of a function, of which only its entry can be seen from outside, and what it returns."""
    import llvmlite.binding as llvm
    from numba.core.compiler_lock import global_compiler_lock

    from subband.compiled.entries import write_entry, write_pointer
    from subband.compiled.memory import ASSEMBLY

    found = getattr(import_module(module), function)
    signature = parse_kinds(kinds)
    is_pointer, is_gathering = "*" in kinds, kinds.endswith(ADDRESSES)
    dispatcher = found.dispatcher if is_pointer or is_gathering else found
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    context = compiled.target_context
    with global_compiler_lock:
        library = context.codegen().create_library(symbol)
        text = library.create_ir_module(symbol)
        if is_pointer:
            write_pointer(context, text, symbol, compiled)
        else:
            write_entry(context, text, symbol, compiled, is_gathering=is_gathering)
        library.add_ir_module(text)
        library.add_llvm_module(llvm.parse_assembly(ASSEMBLY))
        library.add_linking_library(compiled.library)
        library.finalize()
    final = library._final_module
    for definition in [*final.functions, *final.global_variables]:
        if not definition.is_declaration and definition.name != symbol:
            definition.linkage = "internal"
        if is_pointer and definition.name == compiled.fndesc.llvm_func_name:
            # its arguments are on the stack already: passed on, they would be read before they are written
            definition.add_function_attribute("alwaysinline")
    machine = context.codegen()._tm
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(final, llvm.create_pass_builder(machine, llvm.PipelineTuningOptions()))
    _refuse_unknown(final, f"{module}.{function}")
    return bytes(machine.emit_object(final)), format_kinds([compiled.signature.return_type])


def _refuse_unknown(module: Any, name: str) -> None:
    """Raise an error if code asks for anything of Numba's run time that is not there when it is loaded."""
    asked = [f.name for f in module.functions if f.is_declaration and f.name.startswith(("NRT_", "numba_"))]
    if asked:
        raise RuntimeError(f"{name} needs {', '.join(asked)}, which only Numba has; write it without exceptions")


def main() -> None:
    """Build the files of kernels, or compile one share of them."""
    parser = argparse.ArgumentParser(description="compile the package's kernels in advance")
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument(
        "--level", action="append", help="LLVM's name of a processor (default: all levels of this machine)"
    )
    parser.add_argument(
        "--here",
        action="store_true",
        help="only for this processor, or the one of NUMBA_CPU_NAME, and only if anything has changed",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.share:
        share, shares = map(int, options.share.split("/"))
        _compile_share(options.folder, options.level[0], share, shares)
        return
    chosen = LEVELS.get(platform.machine().lower(), ())
    if options.level:
        chosen = tuple(level for level in chosen if level.processor in options.level)
    if options.here:
        asked = os.environ.get(PROCESSOR)
        chosen = tuple(
            level for level in chosen if not list_missing(level.features) and asked in (None, level.processor)
        )[-1:]
        chosen = tuple(level for level in chosen if not _is_current(options.folder / f"{level.processor}.kernels"))
    elif not chosen:
        parser.error(f"nothing is known of {' '.join(options.level or [platform.machine()])}")
    build(options.folder, chosen, options.jobs)


if __name__ == "__main__":
    main()
