"""The reference tokenizer, run on lines of text, and a comparison with ours.

Run as a program it generates lines (see generate.py), passes them through the jar of the
installed pycocoevalcap and through capeval, and prints every line that differs::

    cargo build --release --examples -p capeval-ptb
    BINARY=target/release/examples/tokenize_lines
    python -m tests.conformance.tokenizer.compare --binary $BINARY --lines 50000 --seed 1
    python -m tests.conformance.tokenizer.compare --binary $BINARY --file captions.txt

The jar reads and writes UTF-8 whatever the locale. Java lower-cases tokens with the Unicode
version of the JVM; the goldens were made with Java 17 (Unicode 13).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conformance.tokenizer import generate

#: Characters at which the reference ends a line.
LINE_ENDS = "\n\x0b\x0c\r\u2028\u2029"

GOLDEN = Path(__file__).with_name("golden.txt")

#: Put between lines so that they cannot see each other: it closes any quoted attribute of an
#: unfinished tag without completing the tag, and it is no start of a sentence.
BARRIER = "'\""

#: Tokens that the reference evaluation removes after lowercasing.
PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)


def reference_folder() -> Path:
    """The folder of the installed pycocoevalcap package."""
    spec = importlib.util.find_spec("pycocoevalcap")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the comparison needs the package pycocoevalcap")
    return Path(next(iter(spec.submodule_search_locations)))


def jar_path() -> Path:
    """The tokenizer's jar."""
    return reference_folder() / "tokenizer" / "stanford-corenlp-3.4.1.jar"


def coco_captions(split: str) -> list[str]:
    """The captions of COCO 2014, `val` or `train`, as pycocoevalcap writes them to its file."""
    with zipfile.ZipFile(reference_folder() / "spice" / "spice-1.0.jar") as jar:
        content = json.loads(jar.read(f"coco/annotations/captions_{split}2014.json"))
    return [str(entry["caption"]).replace("\n", " ") for entry in content["annotations"]]


def jar_batch(lines: Sequence[str], *, lowercase: bool = True) -> list[str]:
    """The output line of the jar for each line of one file, as pycocoevalcap writes it."""
    for number, line in enumerate(lines):
        if any(end in line for end in LINE_ENDS):
            raise ValueError(f"line {number} has a line end inside: {line!r}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        path.write_bytes("\n".join(lines).encode())
        return _run_jar([path], lowercase=lowercase).split("\n")


def jar_lines(lines: Sequence[str], *, lowercase: bool = True) -> list[str]:
    """Like jar_batch, but lines do not see each other: each has a barrier after it."""
    batch = [text for line in lines for text in (line, BARRIER)]
    result = jar_batch(batch, lowercase=lowercase)
    if len(result) != len(batch):
        raise ValueError(f"expected {len(batch)} lines from the jar, got {len(result)}")
    return result[::2]


def jar_alone(lines: Sequence[str], *, lowercase: bool = True) -> list[str]:
    """Like jar_batch, but each line is a file of its own, so that nothing follows it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [(folder / f"{i}.in", folder / f"{i}.out") for i in range(len(lines))]
        for line, (source, _) in zip(lines, pairs, strict=True):
            source.write_bytes(line.encode())
        listing = folder / "pairs.txt"
        listing.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        _run_jar(["-ioFileList", listing], lowercase=lowercase)
        return [target.read_bytes().decode() for _, target in pairs]


def _run_jar(arguments: Sequence[str | Path], *, lowercase: bool) -> str:
    command = ["java", "-cp", str(jar_path()), "edu.stanford.nlp.process.PTBTokenizer"]
    command += ["-preserveLines"] + ["-lowerCase"] * lowercase + [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode()


def drop_punctuation(line: str) -> list[str]:
    """The tokens that pycocoevalcap keeps of an output line of the jar."""
    kept = " ".join(word for word in line.rstrip().split(" ") if word not in PUNCTUATION)
    return kept.split(" ") if kept else []


def binary_lines(binary: Path, lines: Iterable[str], *flags: str) -> list[str]:
    """The output of the example program `tokenize_lines` for each line of one batch."""
    text = "\n".join(lines).encode()
    done = subprocess.run([str(binary), *flags], input=text, capture_output=True, check=True)
    return done.stdout.decode().split("\n")


class Difference(NamedTuple):
    """A line on which the tokenizers differ."""

    mode: str
    line: str
    expected: str
    actual: str


def differences(binary: Path, lines: Sequence[str], *, context: str) -> list[Difference]:
    """Compare all modes. The context of a line: "barrier", "batch" (the next lines), "alone"."""
    found = []
    flags = ["--alone"] if context == "alone" else []
    if context == "barrier":
        lines = [text for line in lines for text in (line, BARRIER)]
    for lowercase in (True, False):
        case = [*flags] if lowercase else [*flags, "--keep-case"]
        run = jar_alone if context == "alone" else jar_batch
        expected = run(lines, lowercase=lowercase)
        if len(expected) != len(lines):
            raise ValueError(f"expected {len(lines)} lines from the jar, got {len(expected)}")
        kept = [" ".join(drop_punctuation(line)) for line in expected]
        for punctuation, wanted in (("keep", expected), ("reference", kept)):
            actual = binary_lines(binary, lines, *case, "--punctuation", punctuation)
            mode = f"{punctuation}, {'lower case' if lowercase else 'as is'}"
            rows = zip(lines, wanted, actual, strict=True)
            found += [Difference(mode, *row) for row in rows if row[1] != row[2]]
    return found


def read_golden(path: Path = GOLDEN) -> list[tuple[str, str, str]]:
    """Return lines with their lowercased and original tokens, separated by one space."""
    _, _, body = path.read_bytes().decode().partition("\n\n")
    rows = body.removesuffix("\n").split("\n")
    return list(zip(rows[::3], rows[1::3], rows[2::3], strict=True))


def write_golden(count: int, seed: int, path: Path = GOLDEN) -> None:
    """Write the golden file, only with lines that have the same tokens with and without following lines."""
    lines = list(generate.lines(count, seed))
    columns = [run(lines, lowercase=case) for run in (jar_lines, jar_alone) for case in (True, False)]
    rows = [row for row in zip(lines, *columns, strict=True) if row[1:3] == row[3:]]
    java = subprocess.run(["java", "-version"], capture_output=True, check=True).stderr.decode()
    header = [
        "# The tokens of generated lines: three rows a line, the line itself, its tokens in lower",
        "# case, and its tokens as they are.",
        "# tool: Stanford PTBTokenizer of CoreNLP 3.4.1, the jar inside pycocoevalcap 1.2",
        "# command: java -cp stanford-corenlp-3.4.1.jar edu.stanford.nlp.process.PTBTokenizer"
        " -preserveLines [-lowerCase] FILE",
        f"# java: {java.splitlines()[0]}",
        f"# lines: generate.lines({count}, {seed}), each with a barrier line after it; lines that",
        "# have other tokens at the end of a file are left out",
        "# made by: python -m tests.conformance.tokenizer.compare --write-golden",
    ]
    body = [text for row in rows for text in row[:3]]
    path.write_bytes("\n".join([*header, "", *body, ""]).encode())


def main() -> int:
    """Compare generated lines or the lines of a file; the exit code reports whether any differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, help="example tokenize_lines")
    parser.add_argument("--lines", type=int, default=50_000, help="how many to generate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--code-points", action="store_true", help="a few lines for each one")
    parser.add_argument("--file", type=Path, help="compare the lines of a file instead")
    parser.add_argument("--context", choices=["barrier", "batch", "alone"], default="barrier")
    parser.add_argument("--show", type=int, default=30, help="differences to print")
    parser.add_argument("--write-golden", action="store_true", help="regenerate golden.txt")
    arguments = parser.parse_args()
    if arguments.write_golden:
        write_golden(600, 2014)
        return 0
    if arguments.binary is None:
        parser.error("--binary is needed to compare")
    if arguments.file is not None:
        text = arguments.file.read_bytes().decode(errors="replace")
        for end in LINE_ENDS[1:]:
            text = text.replace(end, " ")
        lines = text.split("\n")
    elif arguments.code_points:
        lines = list(generate.code_point_lines())
    else:
        lines = list(generate.lines(arguments.lines, arguments.seed))
    found = differences(arguments.binary, lines, context=arguments.context)
    for mode, line, expected, actual in found[: arguments.show]:
        print(f"{mode}\n  line     {line!r}\n  expected {expected!r}\n  actual   {actual!r}")
    print(f"{len(lines)} lines, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
