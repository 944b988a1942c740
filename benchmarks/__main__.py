"""Timings of capeval and the reference on the same files, as Markdown tables."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from math import isnan, nan
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.measure import (
    Run,
    describe_machine,
    format_table,
    make_command,
    megabytes,
    run,
    run_in_turn,
    seconds,
)
from capeval import Tokenizer, tokenize
from capeval.data.held_out import hold_out
from capeval.datasets import coco
from capeval.formats import write_candidates, write_references
from capeval.resources.meteor import ensure_tables
from capeval.tokenizers import TokenizedReferences
from tests.conformance.spice import java
from tests.conformance.spice.long import join_captions, list_captions

HERE = Path(__file__).parent
SPICE_CAPTIONS = 3000
LONG_WARM_UP, LONG_LENGTHS = (50, 100, 100), (50, 100, 150, 200, 300, 400)
# Number of captions of each length.
LONG_CAPTIONS = 3
FOUR = ("BLEU", "ROUGE-L", "CIDEr-D")
FIVE = ("BLEU", "METEOR", "ROUGE-L", "CIDEr-D")


def main() -> None:
    """Run the selected parts; by default, all of them."""
    parts: dict[str, Callable[[Path, Any], str]] = {
        "whole": whole,
        "five": five,
        "meteor": meteor,
        "spice": spice,
        "spice-long": spice_long,
        "start": start,
        "minibatch": minibatch,
        "growth": growth,
        "arrow": arrow,
        "volume": volume,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="parts to run (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="number of runs of each process")
    parser.add_argument(
        "--images", type=int, nargs="+", default=[100_000], help="numbers of images for the part volume"
    )
    parser.add_argument(
        "--java-longest",
        type=int,
        default=200,
        help="maximum number of words that Java parses in the part spice-long (300 take it 90 s)",
    )
    arguments = parser.parse_args()
    print(f"{describe_machine()}; {datetime.now(UTC).date()}; medians of {arguments.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.parts or parts:
            options = {"volume": arguments.images, "spice-long": arguments.java_longest}
            print(parts[name](Path(folder), options.get(name, arguments.rounds)), flush=True)
            print()


def whole(folder: Path, rounds: int) -> str:
    """Time whole processes: reference, library, command line and bare kernels."""
    files = _write_files(folder)
    references, candidates = hold_out(coco.load_captions("val2014"), seed=0)
    lines = [str(folder / "references.tsv"), str(folder / "results.tsv")]
    tokens = TokenizedReferences(references, Tokenizer())
    _write_lines(lines[0], [(i, text) for i in range(len(tokens)) for text in tokens.native.of(i)])
    _write_lines(lines[1], list(enumerate(tokens.candidates(candidates).texts())))
    runs = run_in_turn(
        {**_make_commands(files, FOUR), "bare kernels": [_build_kernels(), *lines, "1"]}, rounds
    )
    return _make_table(runs, FOUR)


def five(folder: Path, rounds: int) -> str:
    """Time whole processes including METEOR, with compiled tables."""
    ensure_tables()
    return _make_table(run_in_turn(_make_commands(_write_files(folder), FIVE), rounds), FIVE)


def _write_files(folder: Path) -> list[str]:
    """Write val2014 as files: the references, and one held-out caption per image."""
    files = [str(folder / "references.json"), str(folder / "results.json")]
    if not Path(files[1]).exists():
        references, candidates = hold_out(coco.load_captions("val2014"), seed=0)
        write_references(references, files[0])
        write_candidates(candidates, files[1])
    return files


def _make_commands(files: list[str], metrics: tuple[str, ...]) -> dict[str, list[str]]:
    return {
        "pycocoevalcap": make_command(str(HERE / "reference.py"), *files, *metrics),
        "capeval, a script": make_command(str(HERE / "library.py"), *files, *metrics),
        "capeval score": make_command("-m", "capeval", "score", *files, "--metrics", ",".join(metrics)),
    }


def _make_table(runs: dict[str, list[Run]], metrics: tuple[str, ...]) -> str:
    slow = seconds(runs["pycocoevalcap"])
    kernels = [json.loads(one.output)["seconds"][0][-1] for one in runs.pop("bare kernels", [])]
    rows = [
        [name, f"{seconds(these):.3f}", f"{slow / seconds(these):.1f}", f"{megabytes(these):.0f}"]
        for name, these in runs.items()
    ]
    if kernels:
        bare = median(kernels)
        rows.append(["bare kernels, tokens in memory", f"{bare:.3f}", f"{slow / bare:.1f}", ""])
    parts = [json.loads(one.output) for one in runs["pycocoevalcap"]]
    detail = ", ".join(f"{name} {median(part[name] for part in parts):.2f}" for name in parts[0])
    header = [f"tokens, {', '.join(metrics)} on val2014", "seconds", "times as fast", "MB"]
    return f"{format_table(header, rows)}\n\npycocoevalcap by part (seconds): {detail}"


def meteor(folder: Path, rounds: int) -> str:
    """Time METEOR: all of val2014, single candidates by length, and table compilation."""
    files = _write_files(folder)
    ensure_tables()
    runs = run_in_turn(
        {
            "reference": make_command(str(HERE / "reference.py"), *files, "METEOR"),
            "ours": make_command("-m", "benchmarks.meteor", *files),
            "tables": make_command("-m", "benchmarks.meteor_tables"),
        },
        rounds,
    )
    slow = median(json.loads(one.output)["METEOR"] for one in runs["reference"])
    ours = [json.loads(one.output) for one in runs["ours"]]
    fast = median(one["seconds"] for one in ours)
    rows = [
        ["pycocoevalcap, including start-up", f"{slow:.2f}", "1.0"],
        ["capeval, preparing references and scoring candidates", f"{fast:.3f}", f"{slow / fast:.1f}"],
    ]
    lengths = {words: median(one["milliseconds"][words] for one in ours) for words in ours[0]["milliseconds"]}
    singles = ", ".join(f"{words} words {time:.2f}" for words, time in lengths.items())
    compiling = median(float(one.output) for one in runs["tables"])
    opening = 1000 * median(one["open"] for one in ours)
    notes = [
        f"one candidate against its references (milliseconds): {singles}",
        f"resident memory of the scoring process: {max(one['resident'] for one in ours):.0f} MB",
        f"tables: opened in {opening:.1f} ms, compiled in {compiling:.1f} s "
        f"with a peak of {megabytes(runs['tables']):.0f} MB",
    ]
    return "\n\n".join([format_table(["METEOR on val2014", "seconds", "times as fast"], rows), *notes])


def spice(folder: Path, rounds: int) -> str:
    """Time SPICE and the Java program, warm and on all cores, from captions to tuples."""
    rng, captions = random.Random(0), coco.load_captions("val2014")
    texts = sorted({" ".join(tokens) for tokens in tokenize([captions[image][0] for image in captions])})
    source, classes = folder / "captions.jsonl", folder / "classes"
    classes.mkdir()
    java.write_lines(source, rng.sample(texts, SPICE_CAPTIONS))
    cores = len(os.sched_getaffinity(0))
    # Java's first round is a warm-up, because of just-in-time compilation.
    theirs = java.command(classes, "time", str(source), "2", processors=cores)
    runs = run_in_turn(
        {"Java": theirs, "capeval": make_command("-m", "benchmarks.spice", str(source), "3")},
        max(1, rounds // 2),
    )
    slow = median(float(one.output.split()[-1]) for one in runs["Java"])
    ours = [json.loads(one.output) for one in runs["capeval"]]
    fast = median(time for one in ours for time in one["parsing"][1:])
    rows = [
        [name, f"{time:.2f}", f"{SPICE_CAPTIONS / time:,.0f}", f"{slow / time:.1f}", f"{memory:.0f}"]
        for name, time, memory in (
            ("Java SPICE 1.0", slow, megabytes(runs["Java"])),
            ("capeval", fast, max(one["peak"] for one in ours)),
        )
    ]
    header = [f"{SPICE_CAPTIONS:,} captions to tuples", "seconds", "captions/s", "times as fast", "MB"]
    empty, warm = (median(one[store] for one in ours) for store in ("empty", "warm"))
    images = f"{ours[0]['images']} images of val2014"
    note = f"{images}: {empty:.2f} s with an empty parse cache, {warm:.2f} s with a warm one"
    return f"{format_table(header, rows)}\n\n{note}"


def spice_long(folder: Path, java_longest: int) -> str:
    """Time long captions: as one sentence by Java and on one and two threads, and as several sentences.

    Times are means of the captions of a length. Java and capeval have parsed captions before, and both keep
    their memory.
    """
    classes = folder / "classes"
    classes.mkdir()
    lengths = [length for length in LONG_LENGTHS for _ in range(LONG_CAPTIONS)]
    captions = join_captions(lengths, seed=0)
    source = folder / "captions.jsonl"
    # The first captions are a warm-up, because of just-in-time compilation.
    warm_up = join_captions(LONG_WARM_UP, seed=1)
    java.write_lines(source, warm_up + captions[: sum(length <= java_longest for length in lengths)])
    theirs = run(java.command(classes, "times", str(source), processors=2, memory="10g"))
    seconds = [float(line) for line in theirs.output.split()][len(warm_up) :]
    slow = [fmean(seconds[place : place + LONG_CAPTIONS]) for place in range(0, len(seconds), LONG_CAPTIONS)]
    slow += [nan] * (len(LONG_LENGTHS) - len(slow))
    calls = [captions[place : place + LONG_CAPTIONS] for place in range(0, len(captions), LONG_CAPTIONS)]
    one, two = (_time_long_captions(folder, calls, threads) for threads in (1, 2))
    # One sentence has both threads only if it is alone.
    alone = _time_long_captions(folder, [call[:1] for call in calls], 2)
    apart = _time_long_captions(folder, [list_captions(length, seed=0) for length in LONG_LENGTHS], 1)
    times = [slow, *(found["seconds"] for found in (one, two, alone, apart))]
    rows = [
        [
            str(length),
            _format_time(before),
            _format_time(now / LONG_CAPTIONS),
            _format_time(before / (now / LONG_CAPTIONS)),
            _format_time(both / LONG_CAPTIONS),
            _format_time(single),
            _format_time(split),
        ]
        for length, before, now, both, single, split in zip(LONG_LENGTHS, *times, strict=True)
    ]
    header = ["words", "Java (s)", "capeval (s)", "times as fast", "two threads (s)", "alone on two (s)"]
    header.append("as sentences (s)")
    peaks = f"peak memory: Java {theirs.megabytes:,.0f} MB, capeval {one['peak']:,.0f} MB"
    return f"{format_table(header, rows)}\n\n{peaks}; Java parsed up to {java_longest} words"


def _time_long_captions(folder: Path, calls: list[list[str]], threads: int) -> dict[str, Any]:
    """Time calls, each with a list of texts that are parsed separately.

    The memory of earlier calls is kept, as Java keeps it.
    """
    source = folder / "texts.jsonl"
    java.write_lines(source, calls)
    keep = ["env", f"MALLOC_TRIM_THRESHOLD_={1 << 40}", f"MALLOC_MMAP_THRESHOLD_={1 << 24}"]
    command = [*keep, *make_command("-m", "benchmarks.spice_long", str(source), str(threads))]
    found: dict[str, Any] = json.loads(run(command).output)
    return found


def _format_time(value: float) -> str:
    return "" if isnan(value) else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _write_lines(path: str, rows: list[tuple[int, str]]) -> None:
    Path(path).write_text("".join(f"{image}\t{text}\n" for image, text in rows))


def _build_kernels() -> str:
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
    """Time the start of Python, the imports and the help, as whole processes."""
    runs = run_in_turn(
        {
            "python -c pass": make_command("-c", "pass"),
            'python -c "import numpy"': make_command("-c", "import numpy"),
            'python -c "import capeval"': make_command("-c", "import capeval"),
            'python -c "from capeval import evaluate"': make_command("-c", "from capeval import evaluate"),
            "capeval --help": make_command("-m", "capeval", "--help"),
        },
        max(rounds, 11),
    )
    rows = [[name, f"{seconds(these):.3f}"] for name, these in runs.items()]
    return format_table(["start", "seconds"], rows)


def minibatch(_: Path, __: int) -> str:
    """Time prepared CIDEr-D on minibatches of samples."""
    ours = json.loads(run(make_command("-m", "benchmarks.minibatch")).output)
    theirs = json.loads(run(make_command("-m", "benchmarks.minibatch_reference")).output)
    fast, slow = median(ours["milliseconds"]), median(theirs["milliseconds"])
    rows = [
        ["prepared CIDEr-D, including tokenization", f"{fast:.2f}", f"{slow / fast:.0f}"],
        ["pycocoevalcap's CIDEr-D, without tokenization", f"{slow:.2f}", "1"],
    ]
    grown = f"memory after the first batch {ours['before']:.1f} MB, after 2,000 more {ours['after']:.1f} MB"
    header = ["minibatch of 100 images x 5 samples", "milliseconds", "times as fast"]
    return f"{format_table(header, rows)}\n\n{grown}"


def growth(_: Path, __: int) -> str:
    """Time the evaluation per image for different numbers of images."""
    rows = json.loads(run(make_command("-m", "benchmarks.growth")).output)
    names = list(rows[0]["seconds"])
    cells = [
        [f"{row['images']:,}", *(f"{1e6 * row['seconds'][name] / row['images']:.1f}" for name in names)]
        for row in rows
    ]
    return format_table(["images of train2014, microseconds per image", *names], cells)


def arrow(_: Path, __: int) -> str:
    """Time the conversion of an Arrow table to native captions."""
    found = json.loads(run(make_command("-m", "benchmarks.arrow")).output)
    slow = found["milliseconds"]["lists"]["median"]
    rows = [
        [name, f"{times['median']:.1f}", f"{times['least']:.1f}", f"{slow / times['median']:.1f}"]
        for name, times in found["milliseconds"].items()
    ]
    return format_table(
        [f"{found['images']:,} images, Arrow", "milliseconds", "minimum", "times as fast"], rows
    )


def volume(folder: Path, sizes: list[int]) -> str:
    """Time many images in shards on all cores, and extrapolate to 10^9 images."""
    ensure_tables()
    rows = []
    for images in sizes:
        shards = folder / f"{images}"
        run(make_command("-m", "benchmarks.shards", str(shards), "--images", str(images)))
        for metrics in (FOUR, FIVE):
            found = json.loads(run(make_command("-m", "benchmarks.volume", str(shards), *metrics)).output)
            growth = "" if found["growth"] is None else f"{found['growth']:.3f}"
            hours = 1e9 * found["processor"] / images / 3600
            cells = [f"{found[name]:.0f}" for name in ("wall", "processor", "worker", "driver")]
            rows.append([f"{images:,}", ", ".join(metrics), *cells, growth, f"{hours:.1f}"])
        shutil.rmtree(shards)
    header = ["images", "metrics", "seconds", "core-seconds", "MB per worker", "MB of the driver"]
    header += ["last shard / tenth", "core-hours for 10^9"]
    rate = json.loads(run(make_command("-m", "benchmarks.spice_rate")).output)
    captions = rate["captions_an_image"]
    second = rate["captions"] / rate["core_seconds"]
    # Estimated from the parsing rate, which dominates the cost: parsing all captions would take a day.
    cells = ["", f"{sizes[0] * captions / second:,.0f}", "", "", "", f"{1e9 * captions / second / 3600:,.0f}"]
    rows.append([f"{sizes[0]:,}", "SPICE, estimated from its rate", *cells])
    note = (
        f"SPICE without a parse cache: {second:.1f} captions per core-second (measured on {rate['captions']}"
        f" captions); {captions:.1f} captions per image"
    )
    return f"{format_table(header, rows)}\n\n{note}"


if __name__ == "__main__":
    main()
