"""A forked child has none of its parent's threads; every metric works there all the same."""

import subprocess
import sys

import pytest

from capeval.metrics import registry
from tests.waiting import PATIENCE

SCRIPT = """
import os
import sys

import capeval
from capeval import DocumentFrequencies, References, _native
from capeval.metrics import registry

def score(prepared, references):
    # As text: a category that no reference has is not a number, which equals nothing.
    return repr(prepared.score({image: captions[0] for image, captions in references.items()}).corpus)

references = {image: [f"a dog runs on the grass {image}", "the dog"] for image in range(1500)}
metric = registry.get_metric(sys.argv[1])
prepared = metric.prepare(references)
expected = score(prepared, references)

def in_child(work):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def check():
    assert score(prepared, references) == expected
    assert score(metric.prepare(references), references) == expected

def check_below():
    check()
    in_child(check)
    check()

counts = DocumentFrequencies.of(References(references)).counts

def check_frequencies():
    assert DocumentFrequencies.of(References(references)).counts() == counts()

def check_threads():
    capeval.set_threads(3)
    assert _native.threads() == 3
    check()
    in_child(check)
    capeval.set_threads(1)
    assert _native.threads() == 1
    check()
    capeval.set_threads(None)
    check()

usual = _native.threads()
check_threads()
assert _native.threads() == usual
in_child(check_threads)
in_child(check_frequencies)
in_child(check_below)
check()
print("scored")
"""


# The scores by category of SPICE are computed like SPICE's. Metrics that need files have tests of their own.
_NAMES = [
    name
    for name, make in registry.METRICS.items()
    if not name.startswith("SPICE-") and not make().missing_options
]


@pytest.mark.parametrize("name", _NAMES)
def test_a_forked_child_scores(name: str) -> None:
    # By itself, since a child that hangs must end; and with warnings off, since Python 3.12 warns of every
    # fork of a process that has threads.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, name],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "scored\n"), done.stderr
