"""Benchmark of submissions scored per hour, with and without cached references.

`python -m benchmarks.server_scoring` creates a server's database with the COCO challenge, repeatedly submits
one held-out human caption per image, and runs workers like `capeval server worker`: one worker that prepares
the references for each submission, one that caches them, and two that cache them. For comparison, the library
does the same work without a server: it reads the file, scores it, and computes the intervals.
CAPEVAL_SERVER_DATABASE selects the database, which must be empty (default: SQLite).
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.measure import describe_machine, format_table, make_command

# The library without a server, prepared once: prints the seconds for a number of results files.
LIBRARY = """
import sys, time
import capeval
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.significance import Resampler
references, results, number = sys.argv[1:]
evaluator = Evaluator(capeval.load_references(references), ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"])
resampler = Resampler(samples=1000)
def score():
    report = evaluator.evaluate(capeval.load_candidates(results, strict=True))
    for score in resampler.resample(report).values():
        score.interval()
score()
began = time.perf_counter()
for _ in range(int(number)):
    score()
print(time.perf_counter() - began)
"""
WITHOUT_SERVER = "library without a server, prepared once"
WORKERS = {"prepared for each": 1, "prepared once, one worker": 1, "prepared once, two workers": 2}
# A worker without a cache: each submission is scored in a separate process.
UNCACHED_WORKER = """
import os, time, django
os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.config.settings"
django.setup()
from capeval_server.jobs.worker import work_once
while True:
    work_once() or time.sleep(0.05)
"""
CHALLENGE = """
[challenge]
slug = "val2014"
title = "val2014"

[[splits]]
name = "val2014"
results = "captions_val2014_<alg>_results.json"
metrics = ["BLEU", "METEOR", "ROUGE-L", "CIDEr-D"]
sort_by = "CIDEr-D"
references = [{ name = "c5", file = "references.json", public = true }]

[[phases]]
name = "open"
opens = 2020-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
splits = ["val2014"]
quota_per_day = 10000
quota_total = 10000
"""


def main() -> None:
    """Run the benchmark and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=10, help="number of submissions per round")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CAPEVAL_SERVER_DATA"] = f"{folder}/data"
        results = _create_challenge(Path(folder))
        rates: dict[str, list[float]] = {name: [] for name in (*WORKERS, WITHOUT_SERVER)}
        for _, name in itertools.product(range(arguments.rounds), rates):
            if name == WITHOUT_SERVER:
                seconds = _time_library(Path(folder), arguments.submissions)
            else:
                seconds = _time_workers(results, WORKERS[name], arguments.submissions, keep="once" in name)
            rates[name].append(3600 * arguments.submissions / seconds)
            print(f"  {name}: {seconds:.1f} s", file=sys.stderr, flush=True)
    print(
        f"{describe_machine()}; medians of {arguments.rounds} rounds of {arguments.submissions} submissions\n"
    )
    rows = [
        [name, f"{median(found):,.0f}", f"{3600 / median(found):.2f}", f"{min(found):,.0f}-{max(found):,.0f}"]
        for name, found in rates.items()
    ]
    print(format_table(["val2014, 40,504 images", "submissions/hour", "seconds each", "range"], rows))
    slower = median(rates[WITHOUT_SERVER]) / median(rates["prepared once, one worker"])
    print(f"\nOne worker takes {slower:.2f} times as long as the library without a server.")


def _create_challenge(folder: Path) -> bytes:
    """Create a val2014 challenge and a team; return the contents of a results file."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "capeval_server.config.settings"
    import django

    from capeval.data.held_out import hold_out
    from capeval.datasets import coco
    from capeval.formats import write_candidates, write_references

    django.setup()
    from django.contrib.auth.models import User

    from capeval_server.hosting.services.definition_files import import_challenge
    from capeval_server.teams.services.enrollment import make_team

    subprocess.run(make_command("-m", "capeval_server", "migrate"), check=True)
    references, candidates = hold_out(coco.load_captions("val2014"), seed=0)
    write_references(references, folder / "references.json")
    write_candidates(candidates, folder / "results.json")
    (folder / "challenge.toml").write_text(CHALLENGE)
    make_team(User.objects.create(username="bench"), import_challenge(folder / "challenge.toml"))
    return (folder / "results.json").read_bytes()


def _time_library(folder: Path, number: int) -> float:
    """Return the seconds in which the library scores `number` results files."""
    command = make_command(
        "-c", LIBRARY, f"{folder / 'references.json'}", f"{folder / 'results.json'}", f"{number}"
    )
    # The same setting as in worker processes.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def _time_workers(results: bytes, workers: int, submissions: int, *, keep: bool) -> float:
    """Return the seconds to score submissions, after one warm-up per worker."""
    from capeval_server.submissions.models import Submission

    with _run_workers(workers, keep=keep) as processes:
        # The rate excludes start-up and the first preparation.
        _submit(results, workers)
        _wait_until_scored()
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        _submit(results, submissions)
        began = time.perf_counter()
        for process in processes:
            process.send_signal(signal.SIGCONT)
        _wait_until_scored()
        seconds = time.perf_counter() - began
    if Submission.objects.exclude(state="scored").exists():
        raise RuntimeError("submissions failed")
    return seconds


@contextmanager
def _run_workers(workers: int, *, keep: bool) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = make_command("-m", "capeval_server", "worker") if keep else make_command("-c", UNCACHED_WORKER)
    processes = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(workers)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _submit(results: bytes, number: int) -> None:
    from django.contrib.auth.models import User

    from capeval_server.challenges.models import Phase
    from capeval_server.submissions.services.submit import submit

    for _ in range(number):
        name = "captions_val2014_human_results.json"
        submit(User.objects.get(), Phase.objects.get(), name, [results], declared={})


def _wait_until_scored() -> None:
    from capeval_server.submissions.models import Submission

    while Submission.objects.filter(state__in=["waiting", "running"]).exists():
        time.sleep(0.05)


if __name__ == "__main__":
    main()
