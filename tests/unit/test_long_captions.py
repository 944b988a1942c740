"""Captions of many thousand words cost what their length asks for, and no more."""

import subprocess
import sys

import pytest

TOKENIZE = (
    "import ast, sys; from capeval import tokenize; "
    "print(len(tokenize([ast.literal_eval(sys.argv[1]) * int(sys.argv[2])])[0]))"
)


def run(script: str, *arguments: str) -> str:
    # By itself, since what took too long or too much memory could not be stopped here.
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("piece", ["\U0001f600", "o'a", "a/", "~a", "'a", "\u200d", "<a "])
def test_the_tokenizer_takes_time_in_proportion(piece: str) -> None:
    # A time that grows with the square would be many minutes.
    short, long = (int(run(TOKENIZE, ascii(piece), str(count))) for count in (3_000, 300_000))
    assert long in (short, 100 * short)
