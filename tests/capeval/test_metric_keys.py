"""Keys of metrics: unique, and the same wherever results are stored by metric."""

import pytest

from capeval import Bleu, CiderD, RougeL
from capeval.metrics import Metric, list_metric_keys
from capeval.report import System, to_json
from capeval.scoring.evaluator import evaluate
from capeval.scoring.significance import bootstrap, compare
from capeval.studies.correlation import CorrelationOptions, correlate, score_ratings
from capeval.studies.domains import DomainEvaluator
from capeval.studies.human import HumanOptions, human_performance, leave_one_out
from tests.capeval.test_study_correlation import REFERENCES, ratings

CAPTIONS = {
    image: [f"a {color} dog runs on grass", f"the {color} dog runs", f"dogs run on {place} grass"]
    for image, (color, place) in enumerate([("black", "wet"), ("brown", "dry"), ("white", "the")])
}
CANDIDATES = {image: f"a dog runs on {image} grass" for image in CAPTIONS}
TWO_CIDER_D = [CiderD(), CiderD(n=2, order=2)]
TWO_BLEU = [Bleu(orders=(1, 2)), Bleu(orders=(3, 4))]
EITHER = pytest.mark.parametrize(
    ("metrics", "keys"),
    [(TWO_CIDER_D, ["CIDEr-D", "CIDEr-D-2"]), (TWO_BLEU, ["BLEU-1,BLEU-2", "BLEU-3,BLEU-4"])],
    ids=["CIDEr-D", "BLEU"],
)


def test_a_key_is_the_family_or_the_scores() -> None:
    assert list_metric_keys([Bleu(), RougeL(), CiderD(n=2, order=2)]) == ("BLEU", "ROUGE-L", "CIDEr-D-2")
    assert list_metric_keys([Bleu(orders=(4,))]) == ("BLEU-4",)
    assert list_metric_keys([*TWO_BLEU, CiderD()]) == ("BLEU-1,BLEU-2", "BLEU-3,BLEU-4", "CIDEr-D")


@EITHER
def test_reports_keep_both(metrics: list[Metric], keys: list[str]) -> None:
    report = evaluate(CAPTIONS, CANDIDATES, metrics)
    assert list(report.signatures) == keys
    assert [signature.options for signature in report.signatures.values()] == [m.options() for m in metrics]
    shown = to_json([System(name="a", report=report)])
    assert all(f'"{key}"' in shown for key in keys)


@EITHER
def test_significance_keeps_both(metrics: list[Metric], keys: list[str]) -> None:
    report = evaluate(CAPTIONS, CANDIDATES, metrics)
    names = [name for metric in metrics for name in metric.names]
    assert list(bootstrap(report, samples=10)) == names
    assert list(compare(report, report, samples=10)) == names


@EITHER
def test_human_performance_keeps_both(metrics: list[Metric], keys: list[str]) -> None:
    (made,) = human_performance(CAPTIONS, metrics, HumanOptions(draws=2))
    for study in (made, leave_one_out(CAPTIONS, metrics)):
        assert list(study.signatures) == keys
        assert [signature.options for signature in study.signatures.values()] == [
            m.options() for m in metrics
        ]


@EITHER
def test_domains_keep_both(metrics: list[Metric], keys: list[str]) -> None:
    scores = DomainEvaluator(CAPTIONS, {"a": [0], "b": [1, 2]}, metrics).evaluate(CANDIDATES)
    for domain in ("a", "b", "overall"):
        assert list(scores.statistics[domain]) == keys
        assert list(scores.signatures[domain]) == keys


@EITHER
def test_correlations_keep_both(metrics: list[Metric], keys: list[str]) -> None:
    found = correlate(score_ratings(REFERENCES, ratings(), metrics), CorrelationOptions(samples=2))
    assert list(found.values) == [name for metric in metrics for name in metric.names]
