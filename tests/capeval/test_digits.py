"""Scores have the same digits on every platform: their logarithms and powers are correctly rounded."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import capeval
from capeval import Bleu, Cider2015, CiderD, CiderR, Meteor, RougeL, _native, evaluate
from capeval.data.scores import FloatArray
from capeval.metrics import Metric

REFERENCES = {
    1: ["A brown dog runs on the green grass.", "The dog is running.", "A dog on grass"],
    2: ["Two cats sleep on a red bed.", "Cats are sleeping on the bed."],
    3: ["A man rides a bicycle on the road.", "Somebody is cycling down a street.", "A cyclist"],
}
CANDIDATES = {1: "A dog runs on grass.", 2: "Two sleeping cats on a bed.", 3: "A man on a bike."}


# Functions of the C library and NumPy, which differ between platforms. `clippy.toml` rejects those of Rust.
OTHERS = re.compile(r"\b(math|np)\.(exp\w*|float_power|log\w*|pow|power)\b")


def _to_the_power_of_e(value: float) -> Decimal:
    return Decimal(value).exp()


def _to_the_power(exponent: float) -> Callable[[float], Decimal]:
    return lambda value: (Decimal(exponent) * Decimal(value).ln()).exp()


def _check(found: FloatArray, values: list[float], exact: Callable[[float], Decimal]) -> None:
    with localcontext(prec=60):
        assert found.tolist() == [float(exact(value)) for value in values]


def test_exp_is_correctly_rounded() -> None:
    rng = random.Random(1)
    values = [rng.uniform(-30, 3) for _ in range(3000)]
    values += [-(length**2) / 72 for length in range(100)]
    _check(_native.exp(np.array(values)), values, _to_the_power_of_e)


@pytest.mark.parametrize("exponent", [1 / 2, 1 / 3, 1 / 4, 0.2, 0.74])
def test_power_is_correctly_rounded(exponent: float) -> None:
    values = sorted({matched / words for words in range(2, 60) for matched in range(1, words)})
    _check(_native.power(np.array(values), exponent), values, _to_the_power(exponent))


def test_special_values() -> None:
    assert _native.exp(np.array([0.0, -np.inf, -1e6])).tolist() == [1, 0, 0]
    assert _native.power(np.array([[0.0, 1.0], [4.0, np.inf]]), 0.5).tolist() == [[0, 1], [2, np.inf]]
    assert np.isnan(_native.exp(np.array(np.nan)))


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (
            Bleu(),
            {
                "BLEU-1": "0x1.dffffffefe4d5p-1",
                "BLEU-2": "0x1.50ca4fbfae27ap-1",
                "BLEU-3": "0x1.677ec104586a3p-2",
                "BLEU-4": "0x1.a245f99461eb8p-15",
            },
        ),
        (RougeL(), {"ROUGE-L": "0x1.87bdf49558481p-1"}),
        (CiderD(), {"CIDEr-D": "0x1.a33ed6f3895eap+0"}),
        (Cider2015(), {"CIDEr-2015": "0x1.88916b1523a2bp-3"}),
        (Cider2015(weights="exponential"), {"CIDEr-2015": "0x1.3eb0cf7653415p-5"}),
        (CiderR(), {"CIDEr-R": "0x1.b0eb8b5cfdbd5p+0"}),
        (Meteor(), {"METEOR": "0x1.51f3ffe091400p-2"}),
    ],
)
def test_every_bit_of_scores(metric: Metric, expected: dict[str, str]) -> None:
    report = evaluate(REFERENCES, CANDIDATES, [metric])
    assert {name: score.hex() for name, score in report.corpus.items()} == expected


def test_metrics_use_no_other_functions() -> None:
    sources = list(Path(capeval.__file__).with_name("metrics").glob("*.py"))
    assert len(sources) > 5
    found = {path.name: OTHERS.findall(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: names for name, names in found.items() if names} == {}
    assert OTHERS.findall("np.log2(x) + math.exp(x)") == [("np", "log2"), ("math", "exp")]
