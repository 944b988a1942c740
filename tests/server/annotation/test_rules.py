"""Text rules for captions: matches, match rates on real captions, levels, and stored values."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence

import pytest

from capeval.datasets import coco
from capeval.errors import CaptionError, OptionError
from capeval.tokenizers import tokenize
from capeval_server.annotation.text_rules.rules import (
    LEVELS,
    RULES,
    VERSION,
    RuleSettings,
    check_captions,
    count_words,
    stored_verdict,
    verdict,
)
from tests.shared_data import shared_data

FINE = "A brown dog runs over the green grass."


def found(text: str, settings: RuleSettings | None = None) -> list[str]:
    (findings,) = check_captions([text], settings)
    return [finding.rule for finding in findings]


CASES: list[tuple[str, list[str]]] = [
    (FINE, []),
    ("", ["empty"]),
    (" \n ", ["empty"]),
    ("A dog " * 100, ["too-long"]),
    ("A d\u200bo\u200bg runs over the green grass today.", ["invisible"]),
    ("\u200b", ["invisible", "too-few-words"]),
    ("A dog.", ["too-few-words"]),
    (". , ! ?", ["too-few-words"]),
    ("There is a brown dog on the green grass.", ["there-is"]),
    ("there are two brown dogs on the green grass", ["there-is"]),
    ("There's a brown dog on the green grass.", ["there-is"]),
    ("Therefore a brown dog is on the green grass.", []),
    ("An image containing a brown dog on the grass.", ["picture-of"]),
    ("This is a photo of a brown dog on grass.", ["picture-of"]),
    ("A man takes a photo of a brown dog.", []),
    ("A brown dog from www.dogs.example on the green grass.", ["address"]),
    ("Write to ann@example.org about the brown dog please.", ["address"]),
    ("A dog on the green grass.", ["short"]),
    ("A brown dog runs over grass. It is quick.", ["several-sentences"]),
    ("The image is not loading here for me today.", ["error-report"]),
    ("A woman called Mary walks her dog on grass.", ["name"]),
    ('A man says "hello" to the dog on grass.', ["quotation"]),
    ("A brown dog is about to jump over the grass.", ["other-times"]),
    ("A brown dog runs over the green gras.", ["unknown-words"]),
    ("Ein brauner Hund rennt schnell durch das grüne Gras.", ["language", "name", "unknown-words"]),
]


@pytest.mark.parametrize(("text", "rules"), CASES)
def test_each_rule_finds_what_it_says(text: str, rules: list[str]) -> None:
    assert found(text) == rules


def test_every_rule_is_tried() -> None:
    tried = {rule for _, rules in CASES for rule in rules}
    assert tried | {"blocklist"} == set(RULES)


def test_every_rule_says_why_and_what_to_do() -> None:
    for rule in RULES.values():
        assert rule.level in LEVELS
        assert rule.message.endswith((".", "?", ").", "')."))
        assert len(rule.why) > 30


def test_known_words_are_no_slips_and_listed_ones_need_a_reason() -> None:
    text = "A cabybara rests near a stinking green pond today."
    assert found(text) == ["unknown-words"]
    settings = RuleSettings(known_words=frozenset({"cabybara"}), blocklist=("stinking green", "pon"))
    assert found(text, settings) == ["blocklist"]


def test_levels_can_be_changed() -> None:
    text = "There is a dog on the grass."
    (findings,) = check_captions([text], RuleSettings(levels={"there-is": "hint", "short": "off"}))
    assert [(finding.rule, finding.level) for finding in findings] == [("there-is", "hint")]
    with pytest.raises(OptionError, match="unknown rule 'rude'"):
        RuleSettings(levels={"rude": "block"})
    with pytest.raises(OptionError, match=r"the level of 'short' must be one of off, .* \(got 'stop'\)"):
        RuleSettings(levels={"short": "stop"})


def test_a_reason_keeps_what_a_rule_asks_about_and_sends_it_to_review() -> None:
    short = "A dog on green grass."
    asked = verdict(short)
    assert (asked.blocked, asked.unconfirmed, asked.allowed) == (False, ("short",), False)
    # White space is no reason, and a reason for a rule that finds nothing is not kept.
    assert verdict(short, reasons={"short": " "}).unconfirmed == ("short",)
    kept = verdict(short, reasons={"short": "there is nothing else", "language": "no"})
    assert kept.allowed
    assert kept.for_review
    assert stored_verdict(kept) == {
        "version": VERSION,
        "findings": [{"rule": "short", "level": "confirm", "reason": "there is nothing else"}],
    }
    blocked = verdict("There is a brown dog on the green grass.", reasons={"there-is": "because"})
    assert blocked.blocked
    assert not blocked.allowed
    hinted = verdict("A brown dog runs over the green gras.")
    assert hinted.allowed
    assert not hinted.for_review
    assert stored_verdict(hinted)["findings"] == [{"rule": "unknown-words", "level": "hint"}]
    assert verdict(FINE) == verdict(FINE, RuleSettings(), {})


def test_unusual_texts_are_judged_as_text() -> None:
    assert found("\0" * 600) == ["too-long"]
    assert found("=cmd|' /C calc'!A0 <script>alert(1)</script> dog") != []
    with pytest.raises(CaptionError, match="lone surrogate"):
        check_captions(["a dog \ud800 runs"])


def test_words_are_counted_as_scores_count_them() -> None:
    captions = nocaps()[:10_000]
    assert [count_words(text) for text in captions[:50]] == [
        len(tokens) for tokens in tokenize(captions[:50])
    ]
    assert count_words("A dog, isn't it?") == 5


def nocaps() -> list[str]:
    path = shared_data("nocaps") / "nocaps_val_captions.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [caption for row in json.load(file) for caption in row["caption"]]


def rates(captions: Sequence[str]) -> dict[str, float]:
    """Return the percentage of captions that each rule flags."""
    counts = Counter(finding.rule for findings in check_captions(captions) for finding in findings)
    return {rule: 100 * counts[rule] / len(captions) for rule in RULES}


# In percent; rules that are not listed flag no caption.
NOCAPS_RATES = {
    "picture-of": 0.10,
    "short": 1.42,
    "several-sentences": 0.14,
    "language": 0.04,
    "name": 2.13,
    "quotation": 0.09,
    "other-times": 0.38,
    "unknown-words": 4.65,
}
COCO_RATES = {
    "there-is": 2.05,
    "picture-of": 1.14,
    "short": 0.80,
    "several-sentences": 0.11,
    "error-report": 0.03,
    "language": 0.06,
    "name": 2.66,
    "quotation": 0.26,
    "other-times": 0.43,
    "unknown-words": 3.06,
}


def test_the_rates_on_nocaps() -> None:
    captions = nocaps()
    assert len(captions) == 45_000
    assert rates(captions) == pytest.approx({rule: NOCAPS_RATES.get(rule, 0.0) for rule in RULES}, abs=0.006)


@pytest.mark.conformance
def test_the_rates_on_coco() -> None:
    captions = [text for texts in coco.load_captions().values() for text in texts]
    assert len(captions) == 202_654
    assert rates(captions) == pytest.approx({rule: COCO_RATES.get(rule, 0.0) for rule in RULES}, abs=0.006)


def test_hints_are_rare() -> None:
    for known in (NOCAPS_RATES, COCO_RATES):
        assert all(rate < 5 for rule, rate in known.items() if RULES[rule].level == "hint")
