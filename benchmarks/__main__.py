"""Times capeval and the reference on the same files, in one run, and prints Markdown tables."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.measure import Run, alternating, machine, megabytes, python, run, seconds, table
from capeval import Tokenizer
from capeval.benchmarks import coco
from capeval.formats import write_candidates, write_references
from capeval.tokenization import TokenizedReferences

HERE = Path(__file__).parent
FOUR = ("BLEU", "ROUGE-L", "CIDEr-D")


def main() -> None:
    """Runs the parts asked for, all by default."""
    parts = {"whole": whole, "start": start, "minibatch": minibatch, "growth": growth}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="which parts to run")
    parser.add_argument("--rounds", type=int, default=5, help="how often each process runs")
    arguments = parser.parse_args()
    print(f"{machine()}; {datetime.now(UTC).date()}; medians of {arguments.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.parts or parts:
            print(parts[name](Path(folder), arguments.rounds), flush=True)
            print()


def whole(folder: Path, rounds: int) -> str:
    """Whole processes from JSON files: the reference, the library, the command line, bare kernels."""
    references, candidates = coco.hold_out(coco.captions("val2014"), seed=0)
    files = [str(folder / "references.json"), str(folder / "results.json")]
    write_references(references, files[0])
    write_candidates(candidates, files[1])
    lines = [str(folder / "references.tsv"), str(folder / "results.tsv")]
    tokens = TokenizedReferences(references, Tokenizer())
    _write_lines(lines[0], [(i, text) for i, image in enumerate(references) for text in tokens.native.of(i)])
    _write_lines(lines[1], list(enumerate(tokens.candidates(candidates).texts())))
    runs = alternating(
        {
            "pycocoevalcap": python(str(HERE / "reference.py"), *files, *FOUR),
            "capeval, a script": python(str(HERE / "library.py"), *files, *FOUR),
            "capeval score": python("-m", "capeval", "score", *files, "--metrics", ",".join(FOUR)),
            "bare kernels": [_kernels(), *lines, "1"],
        },
        rounds,
    )
    return _whole_table(runs)


def _whole_table(runs: dict[str, list[Run]]) -> str:
    slow = seconds(runs["pycocoevalcap"])
    kernels = [json.loads(one.output) for one in runs.pop("bare kernels")]
    bare = median(one["seconds"][0][-1] for one in kernels)
    rows = [
        [
            name,
            f"{seconds(these):.3f}",
            f"{slow / seconds(these):.1f}",
            f"{seconds(these) / bare:.2f}",
            f"{megabytes(these):.0f}",
        ]
        for name, these in runs.items()
    ]
    rows.append(["bare kernels, tokens in memory", f"{bare:.3f}", f"{slow / bare:.1f}", "1.00", ""])
    parts = [json.loads(one.output) for one in runs["pycocoevalcap"]]
    detail = ", ".join(f"{name} {median(part[name] for part in parts):.2f}" for name in parts[0])
    header = [
        "tokens, BLEU, ROUGE-L, CIDEr-D on val2014",
        "seconds",
        "times as fast",
        "times the kernels",
        "MB",
    ]
    return f"{table(header, rows)}\n\npycocoevalcap by part (seconds): {detail}"


def _write_lines(path: str, rows: list[tuple[int, str]]) -> None:
    Path(path).write_text("".join(f"{image}\t{text}\n" for image, text in rows))


def _kernels() -> str:
    build = [
        "cargo",
        "build",
        "--release",
        "--quiet",
        "--package",
        "capeval-metrics",
        "--example",
        "bare_kernels",
    ]
    subprocess.run(build, check=True, cwd=HERE.parent)
    return str(HERE.parent / "target" / "release" / "examples" / "bare_kernels")


def start(_: Path, rounds: int) -> str:
    """How long Python, the import and the help take, as whole processes."""
    runs = alternating(
        {
            "python -c pass": python("-c", "pass"),
            'python -c "import numpy"': python("-c", "import numpy"),
            'python -c "import capeval"': python("-c", "import capeval"),
            "capeval --help": python("-m", "capeval", "--help"),
        },
        max(rounds, 11),
    )
    rows = [[name, f"{seconds(these):.3f}"] for name, these in runs.items()]
    return table(["start", "seconds"], rows)


def minibatch(_: Path, __: int) -> str:
    """Prepared CIDEr-D on minibatches of samples."""
    ours = json.loads(run(python("-m", "benchmarks.minibatch")).output)
    theirs = json.loads(run(python("-m", "benchmarks.minibatch_reference")).output)
    fast, slow = median(ours["milliseconds"]), median(theirs["milliseconds"])
    rows = [
        ["prepared CIDEr-D, tokenisation included", f"{fast:.2f}", f"{slow / fast:.0f}"],
        ["pycocoevalcap's CIDEr-D, without tokenisation", f"{slow:.2f}", "1"],
    ]
    grown = f"memory after the first batch {ours['before']:.1f} MB, after 2,000 more {ours['after']:.1f} MB"
    header = ["minibatch of 100 images x 5 samples", "milliseconds", "times as fast"]
    return f"{table(header, rows)}\n\n{grown}"


def growth(_: Path, __: int) -> str:
    """Cost per image by number of images."""
    rows = json.loads(run(python("-m", "benchmarks.growth")).output)
    cells = [
        [f"{row['images']:,}", f"{row['seconds']:.3f}", f"{1e6 * row['seconds'] / row['images']:.1f}"]
        for row in rows
    ]
    return table(["images of train2014", "seconds", "microseconds per image"], cells)


if __name__ == "__main__":
    sys.exit(main())
