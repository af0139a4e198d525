"""Source and pages use the words of the field, which readers search for, and not those that grew in the house.

`docs/glossary.md` defines the terms that are our own.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "subband"

#: What is not written, and what is written instead. A name counts by its parts: ``spell`` is in ``_spell_stage``.
WORDS = {
    "spun": "cycle spinning",
    "settle[sd]?|settling": "resolve",
    "spell|spells|spelt|spelled|spelling": "format",
    "as usual": "at its default",
    "films?": "video",
    "pictures?": "image",
    "places?": "device, index, position or offset",
    "passages?": "round trip",
    "screenings?": "preview",
    "beds?": "harness",
    "who computes": "the engine that computes",
    "nothing is asked|asks no questions": "interior fast path, no bounds checks",
    "said to be done in": "may modify its input",
    "more or less of it": "1 removes the estimated noise; above 1 more, below 1 less",
    r"(?:bits|bytes) a (?:pixel|sample)": "bits per pixel (bpp)",
    r"(?:\d|frames|bytes|bits) a second": "per second (fps)",
    r"(?:is|are) no \w+, so": "applies to … only",
    "mean nothing for": "applies to … only",
}

#: Public names and their values, terms, and the verb.
ALLOWED = [
    r'"(?:spun|film)"|form=\'spun\'|kind(?:: | === )\'film\'|at(?: ?[!=]=? ?|: ?)(?:"picture"|\'picture\')',
    r"Film(?:Source|Sink)|PlaceWarning",
    r"`{1,2}'?(?:spun|picture)'?`{1,2}",
    r"def picture\(|\.picture\(",  # Pyramid.picture
    # an argument of public functions
    r"[(\[]picture\b|, picture\b(?=: |,|\))|= picture\b|^ +pictures? : |^    picture: Any|\bpicture\.(?:shape|dtype)",
    r'"pictures?(?:"|\\?\[| (?:has|is|holds) )|, and pictures\[',  # and its name in messages
    r"\(pictures[,)]|\bpictures: Sequence\[Any\]",  # an argument of `fuse`
    r'"--pictures?"|"picture_(?:depth|alpha)"',  # options, and names in files of coefficients
    r"\bPicture\b|jpeg2000\.picture\b",  # what the JPEG 2000 decoder returns
    r"\b(?:scene|each|result)\.picture\b|^    picture: (?:Array|str)$",  # fields of records of benchmarks
    # names of cases and tables in records
    r"\['picture'|['\"]picture (?:\d+x|\{)|\"Pictures\"|Table 4\.4: frames a second",
    r"[Uu]nits? in the last place|decimal places",
    r"\b[Ii]n(?:to)? place\b|\bis_in_place\b",
    r"place_output|\.place\(|def place\(|`place`",  # to move a file to its name
    r"[Ff]ilm grain",  # that of film stock
    r"place-(?:items|self)",  # properties of CSS
    r"(?<=One of )[a-z, -]+(?=\.)",  # values of options on the page of the command line
]

FOUND = {
    instead: re.compile(rf"(?<![A-Za-z])(?:{old})(?![a-z])".replace(" ", r"\s+(?:#:? )?"), re.IGNORECASE)
    for old, instead in WORDS.items()
}
EXCEPT = re.compile("|".join(ALLOWED), re.MULTILINE)


MODULES = sorted(SOURCE.rglob("*.py"))
STATIC = sorted(path for ending in ("css", "html", "js") for path in SOURCE.rglob(f"*.{ending}"))


def find_words(text):
    """Give the line of each word that is not written any more, the word, and what to write instead."""
    spans = [match.span() for match in EXCEPT.finditer(text)]
    for instead, pattern in FOUND.items():
        for match in pattern.finditer(text):
            if not any(start <= match.start() and match.end() <= end for start, end in spans):
                yield text.count("\n", 0, match.start()) + 1, match[0], instead


@pytest.mark.parametrize("path", [*MODULES, *STATIC], ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_source(path):
    found = list(find_words(path.read_text(encoding="utf-8")))
    assert not found, "\n".join(f"{path.name}:{line}: {word!r}; write {instead}" for line, word, instead in found)


def read_prose(path):
    """Return the text of a page, without code, the targets of links, and what programs have written."""
    text = path.read_text(encoding="utf-8")
    for pattern in (r"^<!-- measured .*? end -->$", r"^```.*?^```$", r"`[^`\n]*`", r"\]\([^)]*\)"):
        text = re.sub(pattern, lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    return text


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page(path):
    lines = read_prose(path).splitlines()
    if path.stem == "glossary":
        lines = [line for line in lines if not line.startswith("| film")]
    found = list(find_words("\n".join(lines)))
    assert not found, "\n".join(f"{path.name}:{line}: {word!r}; write {instead}" for line, word, instead in found)


@pytest.mark.parametrize(
    "text",
    [
        '"""Denoise a film."""',
        "def spell_stage(stage):",
        "x[place] = 0",
        "# the numbers stay in their places",
        '"""A picture."""',
        "#: Nothing is\n#: asked.",
        '"""Who\n    computes."""',
        "0.5 bits a pixel",
        "the form is spun",
    ],
)
def test_words_of_the_house_are_found(text):
    assert list(find_words(text))


@pytest.mark.parametrize(
    "text",
    [
        'Denoise(form="spun")',
        "`form` is ``'spun'``, cycle spinning",
        "def add(self, picture: Any, seed: Seed = None) -> Any:",
        "shrunk in place",
        "three units in the last place",
        "replace, placed, filming, misplaced",
        "less of the film grain",
    ],
)
def test_other_words_are_not(text):
    assert not list(find_words(text))
