"""The script of docs/how-to/pytorch.md runs, and its rewards rise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.docs.test_examples import SELF_CRITICAL, blocks


def test_rewards_rise(capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = blocks(SELF_CRITICAL, "python")
    assert script.text.count("\n") <= 80
    names: dict[str, Any] = {"__name__": "__main__"}
    # Tracebacks show line numbers of the page.
    exec(compile("\n" * (script.line - 1) + script.text, str(SELF_CRITICAL), "exec"), names)
    first, *_, last = np.reshape(names["history"], (4, 60, 2)).mean(axis=1)
    # The columns are the mean rewards of samples and of greedy captions.
    assert (last > 1.1 * first).all(), (first, last)
    printed = capsys.readouterr().out.splitlines()
    (shown,) = [block.text.splitlines() for block in blocks(SELF_CRITICAL, "text")]
    assert [line.split(":")[0] for line in printed] == [line.split(":")[0] for line in shown]
