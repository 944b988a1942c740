"""Progress and interruption while SPICE parses one long sentence."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import pairwise

import pytest
from rich.progress import Progress

from capeval._internal.progress import send_progress_to
from capeval.cli.toolkit import output
from capeval.metrics.spice_parsing import LongSentenceError, analyze_sentences, list_scene_tuples
from tests.conformance.spice.long import long_images
from tests.spice_model import NEEDS_MODEL
from tests.waiting import PATIENCE

pytestmark = NEEDS_MODEL

# A sentence of 400 tokens takes at least ten seconds.
PARSE = """
from capeval import set_threads
from capeval._internal.progress import send_progress_to
from capeval.cli.toolkit import output
from capeval.metrics.spice_parsing import list_scene_tuples
set_threads(1)
with send_progress_to(lambda *progress: print(*progress, flush=True)):
    list_scene_tuples([" ".join(["a man in a red shirt is riding a brown horse and"] * 33)[:-4]])
"""


class StopError(Exception):
    """An exception of a listener."""


def test_a_long_sentence_reports_progress_and_is_interrupted() -> None:
    command = [sys.executable, "-c", PARSE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        try:
            rest, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert lines[0] == "Parsing captions 0 1\n"
    done = [float(line.removeprefix("Parsing captions ").removesuffix(" 1\n")) for line in lines]
    assert all(one < other for one, other in pairwise(done))
    assert 0 < done[-1] < 0.9
    # The sentence was not finished.
    assert "Parsing captions 1 1" not in rest
    assert errors.endswith("KeyboardInterrupt\n")


def test_slow_work_is_shown_in_percent() -> None:
    work, bar = output._Work("Parsing captions"), Progress()
    work._started -= 10
    for done, detail in ((0.5, "0 of 3, 17%"), (2.25, "2 of 3, 75%")):
        work.done, work.total = done, 3
        work.show(bar)
        (task,) = bar.tasks
        assert (task.completed, task.fields["detail"]) == (done, detail)
    work.done = 3
    work.show(bar)
    assert bar.tasks == []


def test_a_listener_ends_the_work_within_a_sentence() -> None:
    reported: list[float] = []

    def listen(work: str, done: float, total: int) -> None:
        assert (work, total) == ("Analyzing captions", 1)
        reported.append(done)
        if done > 0:
            raise StopError

    with send_progress_to(listen), pytest.raises(StopError):
        analyze_sentences([" ".join(each["test"] for each in long_images())])
    first, last = reported
    assert first == 0 < last < 1


def test_progress_ends_despite_a_caption_that_is_too_long() -> None:
    reported: list[float] = []
    captions = ["a dog runs", "a cat", "a dog " * 9, "two cats sleep"]
    with (
        send_progress_to(lambda work, done, total: reported.append(done / total)),
        pytest.raises(LongSentenceError),
    ):
        list_scene_tuples(captions, longest=10)
    assert reported[0] == 0
    assert reported[-1] == 1
    assert reported == sorted(reported)
