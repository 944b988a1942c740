"""Saved reports are computed again from the options in them, and every difference has a reason."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from capeval import Candidates, CiderD, DocumentFrequencies, References, Report, Tokenizer, evaluate
from capeval.errors import FormatError, OptionError
from capeval.metrics import METRICS
from capeval.metrics.base import Metric
from capeval.scoring.saved_reports import SavedReport, load_saved_reports
from capeval.scoring.significance import bootstrap
from capeval.scoring.verification import Verification, verify
from capeval.tokenizers import TOKENIZERS
from tests.spice_model import IS_HERE

REFERENCES = {
    image: [f"A man rides horse number {image}.", "A brown horse, with its rider", "someone rides it"]
    for image in range(1, 9)
}
CANDIDATES = {image: f"a man on the horse number {image}" for image in range(1, 9)}
SUBSETS = {"low": [1, 2, 3], "high": [4, 5, 6, 7, 8]}


def save_and_load(report: Report, **options: Any) -> SavedReport:
    """Write and read a report as JSON text."""
    text = json.dumps(report.to_dict(**options), allow_nan=False)
    (saved,) = load_saved_reports(text.encode(), name="report.json")
    return saved


def change(report: Report, **changes: Any) -> SavedReport:
    return SavedReport.from_json(report.to_dict(per_image=True) | changes)


def kinds(verification: Verification) -> list[str]:
    return [difference.kind for difference in verification.differences]


METRIC_OBJECTS: list[Metric] = [
    CiderD(sigma=3.5, n=2, order=2, stem=True, form="paper"),
    CiderD(frequencies="uniform"),
    METRICS["CIDEr-2015"](),
    METRICS["BLEU(orders=1,3)"](),
]


_WITHOUT_FILES = [name for name, make in METRICS.items() if not make().missing_options]


@pytest.mark.parametrize("name", [name for name in _WITHOUT_FILES if IS_HERE or not name.startswith("SP")])
def test_every_metric_is_restored_from_its_signature(name: str) -> None:
    report = evaluate(REFERENCES, CANDIDATES, [name], subsets=SUBSETS)
    saved = save_and_load(report, per_image=True)
    assert saved.restore_metrics() == tuple(metric for metric, _ in report.scores)
    verification = verify(saved, REFERENCES, CANDIDATES, subsets=SUBSETS)
    assert verification.is_same
    assert (verification.differences, verification.notes) == ((), ())
    assert verification.images == len(REFERENCES)
    assert {score.part for score in verification.scores} == {"", "subset low", "subset high"}


@pytest.mark.parametrize("metric", METRIC_OBJECTS, ids=str)
def test_options_are_restored(metric: Metric) -> None:
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, [metric]))
    assert saved.restore_metrics() == (metric,)
    assert verify(saved, REFERENCES, CANDIDATES).is_same


@pytest.mark.skipif(not IS_HERE, reason="LEFT OUT: SPICE's model is not here")
def test_the_sentence_limit_of_spice_is_restored() -> None:
    metrics = [METRICS[name]().with_sentence_limit(4) for name in ("SPICE", "SPIDEr")]
    with pytest.warns(UserWarning, match="a sentence of more than 4 tokens"):
        report = evaluate(REFERENCES, CANDIDATES, metrics)
    saved = save_and_load(report, per_image=True)
    assert saved.restore_metrics() == tuple(metrics)
    with pytest.warns(UserWarning, match="a sentence of more than 4 tokens"):
        verification = verify(saved, REFERENCES, CANDIDATES)
    # No image has a score, so all of them are null in JSON.
    assert verification.is_same
    assert saved.resources.keys() == {"SPICE's model"}
    changed = change(report, resources={"SPICE's model": "00000000"})
    with pytest.warns(UserWarning, match="a sentence of more than 4 tokens"):
        assert kinds(verify(changed, REFERENCES, CANDIDATES)) == ["resources"]


@pytest.mark.parametrize(
    "tokenizer",
    [
        *(Tokenizer(lowercase=False, punctuation="keep", context=each) for each in ("file", "caption")),
        Tokenizer(punctuation="paper"),
        *(TOKENIZERS[name] for name in ("none", "char", "zh", "13a")),
    ],
    ids=str,
)
def test_tokenizers_are_restored(tokenizer: Tokenizer) -> None:
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, ["BLEU"], tokenizer=tokenizer))
    assert saved.restore_tokenizer() == tokenizer
    assert verify(saved, REFERENCES, CANDIDATES).is_same


def test_a_function_must_be_passed_again() -> None:
    words = Tokenizer(function=str.split, name="words")
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, ["BLEU"], tokenizer=words))
    with pytest.raises(OptionError, match="tokenizer function:words is not registered here; pass it with"):
        verify(saved, REFERENCES, CANDIDATES)
    assert verify(saved, REFERENCES, CANDIDATES, tokenizer=words).is_same
    other = verify(saved, REFERENCES, CANDIDATES, tokenizer=Tokenizer())
    assert not other.is_same
    assert [each.text for each in other.differences] == [
        "The options of BLEU differ: tokenizer=function:words in the report,"
        " tokenizer=ptb-3.4.1-lower-punctuation:reference here."
    ]


def test_document_frequencies_of_a_corpus_must_be_passed_again() -> None:
    frequencies = DocumentFrequencies.of({**REFERENCES, 9: ["two cats"]}, name="horses")
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, ["BLEU", CiderD(frequencies=frequencies)]))
    with pytest.raises(OptionError, match=f"horses:{frequencies.digest}; pass them with 'frequencies'"):
        verify(saved, REFERENCES, CANDIDATES)
    assert verify(saved, REFERENCES, CANDIDATES, frequencies=frequencies).is_same
    others = DocumentFrequencies.of(REFERENCES, name="horses")
    verification = verify(saved, REFERENCES, CANDIDATES, frequencies=others)
    assert (verification.is_same, kinds(verification)) == (False, ["options"])


def test_intervals_are_computed_with_their_seed() -> None:
    candidates = {image: " ".join(caption.split()[:image]) for image, caption in CANDIDATES.items()}
    report = evaluate(REFERENCES, candidates, ["BLEU", "ROUGE-L"])
    report = report.with_intervals(samples=50, level=0.9, seed=4)
    verification = verify(save_and_load(report), REFERENCES, candidates)
    assert verification.is_same
    assert [score.part for score in verification.scores if score.name == "ROUGE-L"] == [
        "",
        "interval, low",
        "interval, high",
    ]
    intervals = report.to_dict()["intervals"]
    report = evaluate(REFERENCES, candidates, ["BLEU", "ROUGE-L"], subsets=SUBSETS)
    high = {name: asdict(each) for name, each in bootstrap(report, samples=9, images=SUBSETS["high"]).items()}
    for content, same in ((high, True), ({**high, "ROUGE-L": {**high["ROUGE-L"], "low": 0.0}}, False)):
        saved = change(report, subset_intervals={"high": content})
        verification = verify(saved, REFERENCES, candidates, subsets=SUBSETS)
        assert verification.is_same == same
        assert sum(score.part == "interval of subset high, low" for score in verification.scores) == 5
    changed = change(report, intervals={**intervals, "ROUGE-L": {**intervals["ROUGE-L"], "seed": 5}})
    verification = verify(changed, REFERENCES, candidates)
    assert {(score.name, score.part[:8]) for score in verification.scores if not score.is_same} == {
        ("ROUGE-L", "interval")
    }


def test_other_captions_are_told_from_other_code() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["BLEU-1", "ROUGE-L"])
    saved = save_and_load(report, per_image=True)
    other = verify(saved, REFERENCES, {**CANDIDATES, 7: "a dog"})
    assert (other.is_same, other.different_images, kinds(other)) == (False, (7,), ["captions"])
    edited = change(report, metrics={**report.corpus, "ROUGE-L": 0.5})
    other = verify(edited, REFERENCES, CANDIDATES)
    assert [score.name for score in other.scores if not score.is_same] == ["ROUGE-L"]
    assert (other.is_same, kinds(other)) == (False, ["unknown"])
    assert "the report was edited" in other.differences[0].text
    # A different order of the images changes nothing, and neither do the forms of the ids.
    assert verify(saved, REFERENCES, {str(image): CANDIDATES[image] for image in range(8, 0, -1)}).is_same


def test_other_images_of_subsets_are_told_from_edits() -> None:
    candidates = {**CANDIDATES, 3: "a dog"}
    report = evaluate(REFERENCES, candidates, ["BLEU"], subsets=SUBSETS)
    others = {"low": [1, 2], "high": SUBSETS["high"]}
    verification = verify(change(report), REFERENCES, candidates, subsets=others)
    assert (verification.is_same, kinds(verification)) == (False, ["subsets"])
    low = report.to_dict()["subset_images"]["low"]
    assert low["images"] == 3
    assert verification.differences[0].text.startswith(
        f"The images of the subset 'low' differ: 3 images (digest {low['digest']}) in the report, 2 images"
    )
    earlier = change(report, subset_images={})
    assert verify(earlier, REFERENCES, candidates, subsets=SUBSETS).is_same
    verification = verify(earlier, REFERENCES, candidates, subsets=others)
    assert kinds(verification) == ["unknown"]
    assert "the images of the subsets may differ (the report has no digest of them)" in (
        verification.differences[0].text
    )


def test_other_references_are_described() -> None:
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, ["BLEU"]))
    fewer = {image: captions[:2] if image > 1 else captions for image, captions in REFERENCES.items()}
    verification = verify(saved, fewer, CANDIDATES)
    assert kinds(verification) == ["references"]
    assert "8 images with 3 references each (digest " in verification.differences[0].text
    assert "8 images with 2-3 references each (digest " in verification.differences[0].text


def test_other_images_are_a_difference() -> None:
    saved = save_and_load(evaluate(REFERENCES, CANDIDATES, ["BLEU"]))
    verification = verify(saved, REFERENCES, {1: "a horse"})
    assert (verification.is_same, verification.scores, kinds(verification)) == (False, (), ["images"])
    assert "7 images (2, 3, 4, 5, 6, ...) are among the references" in verification.differences[0].text


def test_skipped_images_are_skipped_again() -> None:
    some = {image: caption for image, caption in CANDIDATES.items() if image > 2} | {99: "a dog"}
    report = evaluate(REFERENCES, some, ["CIDEr-D"], missing="skip", extra="skip")
    saved = save_and_load(report)
    assert (saved.skips_missing, saved.skips_extra) == (True, True)
    assert verify(saved, REFERENCES, some).is_same


def test_a_report_of_an_earlier_version() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["BLEU", "CIDEr-D"])
    content = report.to_dict()
    del content["candidates_digest"]
    for signature in content["signatures"].values():
        signature["version"] = "0.0.1"
        del signature["images"], signature["document_frequencies"]
    saved = SavedReport.from_json(content)
    same = verify(saved, REFERENCES, CANDIDATES)
    assert (same.is_same, kinds(same)) == (True, ["version"])
    assert "no digest of the captions" in same.notes[0]
    other = verify(saved, REFERENCES, {**CANDIDATES, 1: "a dog"})
    assert (other.is_same, kinds(other)) == (False, ["version"])
    for signature in content["signatures"].values():
        signature["version"] = report.signatures["BLEU"].version
    other = verify(SavedReport.from_json(content), REFERENCES, {**CANDIDATES, 1: "a dog"})
    assert [each.text for each in other.differences] == [
        "Version, options, references and resources are equal, so the captions probably differ"
        " (the report has no digest of them)."
    ]


def test_the_former_name_of_a_metric_is_known() -> None:
    report = evaluate(REFERENCES, CANDIDATES, ["CIDEr-2015"])
    text = json.dumps(report.to_dict(per_image=True)).replace("CIDEr-2015", "CIDEr")
    (saved,) = load_saved_reports(text.encode())
    verification = verify(saved, REFERENCES, CANDIDATES)
    assert verification.is_same
    assert [score.name for score in verification.scores] == ["CIDEr"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "report.html: line 1 column 1 is not JSON"),
        (b"[]", "the file must be an object or a list of objects, one per system"),
        (b'[{"image_id": 1, "caption": "a"}]', r"entries\[0\] must have the key 'metrics'"),
        (b'{"metrics": {}}', "report has no signatures, which contain the options of the scores"),
        (b'{"metrics": {}, "signatures": {}}', "report must have the key 'images'"),
        (
            b'{"metrics": {"BLEU-1": "x"}, "signatures": {}, "images": 1}',
            "report.metrics.BLEU-1 must be a number or null",
        ),
        (
            b'{"metrics": {}, "signatures": {"BLEU": {"metric": "BLEU"}}, "images": 1}',
            r"report.signatures\['BLEU'\] must have the key 'options'",
        ),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        load_saved_reports(content, name="report.html")
    assert str(caught.value).endswith(
        "expected the JSON of `capeval score --format json` or of `Report.save`"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "Toy"}, "the report has the metric 'Toy', which is not registered here"),
        ({"options": ["n=9", "sigma=6"]}, "the report's options of CIDEr-D: 'n' must be"),
        ({"options": ["width=2"]}, "CIDEr-D has no option 'width'"),
        ({"seed": 3}, "the report's CIDEr-D depends on random draws"),
    ],
)
def test_unknown_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    content = evaluate(REFERENCES, CANDIDATES, ["CIDEr-D"]).to_dict()
    content["signatures"]["CIDEr-D"].update(changes)
    with pytest.raises(OptionError, match=message):
        verify(SavedReport.from_json(content), REFERENCES, CANDIDATES)


def test_numbers_are_read_exactly(tmp_path: Path) -> None:
    numbers = {f"n{place}": 1 / (3 + place) for place in range(1000)}
    content = {"metrics": numbers, "signatures": {}, "images": 1}
    (saved,) = load_saved_reports(json.dumps(content).encode())
    assert saved.metrics == numbers


def test_the_digest_of_the_captions_is_that_of_their_images() -> None:
    report = evaluate(References(REFERENCES), Candidates(CANDIDATES), ["BLEU-1"])
    turned = evaluate(REFERENCES, dict(reversed(CANDIDATES.items())), ["BLEU-1"])
    swapped = evaluate(REFERENCES, {**CANDIDATES, 1: CANDIDATES[2], 2: CANDIDATES[1]}, ["BLEU-1"])
    assert report.candidates_digest == turned.candidates_digest != swapped.candidates_digest
    assert report.to_dict()["candidates_digest"] == str(report.candidates_digest)
