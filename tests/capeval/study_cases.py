"""An example of each study: small files, the arguments of its command, and the same study in Python."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from capeval.datasets.building import build_dataset, load_plans
from capeval.datasets.flickr8k import load_flickr8k_expert
from capeval.datasets.nocaps import load_captions, load_domains
from capeval.datasets.open_images import load_boxes
from capeval.datasets.selection import choose_images, compare_selection
from capeval.formats import load_candidates, load_references
from capeval.formats.judgments.plans import Plan, get_plan_paths, load_plan, load_votes, write_plan
from capeval.formats.judgments.ratings import load_ratings
from capeval.formats.keywords import load_keywords
from capeval.report.study_report import StudyReport
from capeval.studies import (
    cider_paper,
    coco_paper,
    consensus,
    correlation,
    diversity,
    domains,
    effort,
    gaming,
    human,
    judging,
    metric,
    nocaps_paper,
    plan,
    priming,
    ranking,
    votes,
    words,
)
from capeval.studies.build.report import split_table
from capeval.studies.choose.report import report as report_choice
from capeval.studies.cider_paper.report import report as report_cider_paper
from capeval.studies.coco_paper.report import report as report_coco_paper
from capeval.studies.consensus.report import report as report_consensus
from capeval.studies.correlation.report import report as report_correlation
from capeval.studies.diversity.report import report as report_diversity
from capeval.studies.domains.report import report as report_domains
from capeval.studies.effort.report import report as report_effort
from capeval.studies.gaming.report import report as report_gaming
from capeval.studies.human.report import report as report_human
from capeval.studies.judging.report import report as report_judging
from capeval.studies.metric.report import report as report_metric
from capeval.studies.nocaps_paper.report import report as report_nocaps_paper
from capeval.studies.plan.report import report as report_plan
from capeval.studies.priming.report import report as report_priming
from capeval.studies.ranking.report import report as report_ranking
from capeval.studies.votes.report import report as report_votes
from capeval.studies.words.report import report as report_words

__all__ = ["CASES", "StudyCase", "write_files"]

CAPTIONS = {
    image: ["A dog runs.", "The dog sleeps.", "A red bus", "the bus is red", f"a dog on bus {image}"]
    for image in range(1, 7)
}
SENTENCES = {
    "x": ["a dog runs on the grass", "a dog runs on grass", "the dog is running in grass", "a dog"],
    "y": ["two cats sleep on a bed", "cats sleep on a bed", "a cat sleeps on the bed", "two cats"],
}
DOMAINS = ("in-domain", "in-domain", "near-domain", "near-domain", "out-domain", "out-domain")
PLANS = {"train": {"images": 4}, "test": {"images": 2, "private": True}}


def _write_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_files(folder: Path) -> None:
    """Write the files that the examples read."""
    (folder / "captions.json").write_text(json.dumps(CAPTIONS), encoding="utf-8")
    (folder / "sentences.json").write_text(json.dumps(SENTENCES), encoding="utf-8")
    entries = [
        {"image_id": image, "domain": domain, "caption": texts}
        for (image, texts), domain in zip(CAPTIONS.items(), DOMAINS, strict=True)
    ]
    (folder / "domains.json").write_text(json.dumps(entries), encoding="utf-8")
    results = [{"image_id": image, "caption": f"a dog on a bus {image}"} for image in CAPTIONS]
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    ratings = [(image, f"a dog on a bus {image}", 3 + image % 2) for image in CAPTIONS]
    others = [(image, "a cat", 1 + image % 2) for image in CAPTIONS]
    _write_rows(folder / "ratings.csv", [("image_id", "caption", "rating"), *ratings, *others])
    better = [(image, text, image % 2, "mine") for image, text, _ in ratings]
    _write_rows(folder / "m1.csv", [("image_id", "caption", "rating", "system"), *better])
    boxes = [(f"i{image}", f"/m/{label}") for image in range(30) for label in range(1 + image % 8)]
    _write_rows(folder / "boxes.csv", [("ImageID", "LabelName"), *boxes])
    items = [{"key": str(image), "keywords": ["Dog", "Bus"]} for image in CAPTIONS]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    plain = {image: texts[:2] for image, texts in CAPTIONS.items()}
    (folder / "plain.json").write_text(json.dumps(plain), encoding="utf-8")
    (folder / "plans.json").write_text(json.dumps(PLANS), encoding="utf-8")
    planned = _plan(folder)
    (folder / "plan").mkdir()
    write_plan(planned, folder / "plan")
    (folder / "flickr8k").mkdir()
    lines = ("1.jpg#0\tA dog runs .", "2.jpg#0\tTwo cats sleep .", "3.jpg#0\tThe dog sleeps .")
    (folder / "flickr8k" / "Flickr8k.token.txt").write_text("\n".join(lines), encoding="utf-8")
    rows = ("1.jpg\t3.jpg#0\t3\t3\t2", "2.jpg\t3.jpg#0\t1\t2\t2", "2.jpg\t1.jpg#0\t1\t1\t1")
    (folder / "flickr8k" / "ExpertAnnotations.txt").write_text("\n".join(rows), encoding="utf-8")
    _write_thumb(folder / "thumb")
    choices = [(number, ("left", "right")[number % 2]) for number in range(len(planned.triplets))]
    _write_rows(folder / "votes.csv", [("triplet", "choice"), *choices])


def _write_thumb(folder: Path) -> None:
    """Write captions of two systems and people, with ratings in the format of THumB."""
    folder.mkdir()
    rows = []
    for image in CAPTIONS:
        for system, text, score in (
            ("a", f"a dog on bus {image}", 4),
            ("b", "a cat", 2),
            ("Human", "dogs", 3),
        ):
            total = score + image % 2 / 2
            ratings = {"P": total, "R": total, "Fl": 0, "Inc": 0, "Con": 0, "human_score": total}
            rows.append(json.dumps({"SYS": system, "seg_id": str(image), "hyp": text, **ratings}))
    (folder / "mscoco_THumB-1.0.jsonl").write_text("\n".join(rows), encoding="utf-8")
    references = [json.dumps({"seg_id": str(image), "refs": texts}) for image, texts in CAPTIONS.items()]
    (folder / "mscoco_references.json").write_text("\n".join(references), encoding="utf-8")


def _plan(folder: Path) -> Plan:
    captions = load_references(folder / "captions.json")
    return plan.plan_study(captions, {}, {"HC": 3, "HI": 3})


def _counted(folder: Path) -> votes.PlanVotes:
    planned = load_plan(*get_plan_paths(folder / "plan"))
    return votes.count_votes(planned, load_votes(folder / "votes.csv", planned))


def _human(folder: Path) -> StudyReport:
    captions = load_references(folder / "captions.json")
    return report_human(human.human_performance(captions, ["BLEU-1"]))


def _words(folder: Path) -> StudyReport:
    captions = load_references(folder / "captions.json")
    study = words.study_words(captions, words.coco_word_classes())
    return report_words(study, classes="Word classes: WordNet's, of frequent words in COCO captions.")


def _cider_paper(folder: Path) -> StudyReport:
    captions, ratings = load_flickr8k_expert(
        folder / "flickr8k" / "ExpertAnnotations.txt", folder / "flickr8k" / "Flickr8k.token.txt"
    )
    rho = cider_paper.study_paper_flickr8k(captions, ratings)
    return report_cider_paper(None, None, rho).to_study_report()


def _coco_paper(folder: Path) -> StudyReport:
    captions = load_references(folder / "captions.json")
    return report_coco_paper(coco_paper.study_coco_paper(captions)).to_study_report()


def _consensus(folder: Path) -> StudyReport:
    return report_consensus(consensus.study_plan(_counted(folder), None, consensus.ConsensusOptions()))


def _ranking(folder: Path) -> StudyReport:
    captions = load_references(folder / "sentences.json")
    found = ranking.rank_references(captions)
    return report_ranking(found, ranking.paper_correlations(found), captions.image_ids[0], 10)


def _gaming(folder: Path) -> StudyReport:
    return report_gaming(gaming.study_gaming(load_references(folder / "captions.json")))


def _correlation(folder: Path) -> StudyReport:
    captions, ratings = load_references(folder / "captions.json"), load_ratings(folder / "ratings.csv")
    scored = correlation.score_ratings(captions, ratings, ["BLEU-1", "ROUGE-L"])
    return report_correlation(correlation.study_correlation(scored))


def _metric(folder: Path) -> StudyReport:
    benchmark = metric.load_benchmark("thumb", folder / "thumb")
    return report_metric([metric.evaluate_metric("ROUGE-L", benchmark, compared=["BLEU-1"])])


def _judging(folder: Path) -> StudyReport:
    return report_judging([judging.judge(load_ratings(folder / "m1.csv"), "M1")])


def _effort(_: Path) -> StudyReport:
    agreement = effort.Agreement(yes=0.5, concentration=1.0)
    made = effort.forecast(images=100, agreement=agreement, prices=effort.Prices())
    return report_effort(made, agreement)


def _diversity(folder: Path) -> StudyReport:
    corpora = {"captions": load_captions(folder / "captions.json")}
    return report_diversity(diversity.diversity(corpora, diversity.DiversityOptions(images=4)), {})


def _domains(folder: Path) -> StudyReport:
    captions = load_captions(folder / "domains.json")
    images = load_domains(folder / "domains.json", images=captions)
    evaluator = domains.DomainEvaluator(captions, images, ["BLEU-1", "CIDEr-D"])
    systems = {"results": load_candidates(folder / "results.json")}
    return report_domains(domains.study_domains(evaluator, systems))


def _nocaps_paper(folder: Path) -> StudyReport:
    captions = load_captions(folder / "domains.json")
    images = load_domains(folder / "domains.json", images=captions)
    coco = load_references(folder / "captions.json")
    study = nocaps_paper.study_nocaps_paper(captions, images, ["CIDEr-D"], coco=coco)
    return report_nocaps_paper(study).to_study_report()


def _choose(folder: Path) -> StudyReport:
    annotations = load_boxes(folder / "boxes.csv", None)
    return report_choice(compare_selection(annotations, choose_images(annotations, 15)))


def _priming(folder: Path) -> StudyReport:
    plain, primed = (load_references(folder / name) for name in ("plain.json", "captions.json"))
    return report_priming(priming.study_priming(plain, primed, load_keywords(folder / "items.jsonl")))


def _build(folder: Path) -> StudyReport:
    captions = load_references(folder / "captions.json")
    dataset = build_dataset(captions, load_plans(folder / "plans.json", captions.image_ids))
    return StudyReport(tables={"1.0": split_table(dataset)})


@dataclass(frozen=True, kw_only=True)
class StudyCase:
    """An example of a study.

    Attributes:
        arguments: The arguments of the command; those that begin with `@` are files of `write_files`.
        report: The same study in Python, with options left at their defaults where the command has them so.
        has_figures: Whether the example has figures. Studies that only write files of a project have none.
    """

    arguments: tuple[str, ...]
    report: Callable[[Path], StudyReport]
    has_figures: bool = True


CASES: dict[str, StudyCase] = {
    "human": StudyCase(arguments=("@captions.json", "-m", "BLEU-1"), report=_human),
    "cider-paper": StudyCase(arguments=("--flickr8k", "@flickr8k"), report=_cider_paper, has_figures=False),
    "coco-paper": StudyCase(arguments=("@captions.json",), report=_coco_paper),
    "words": StudyCase(arguments=("@captions.json", "--tagger", "wordnet"), report=_words),
    "plan": StudyCase(
        arguments=("@captions.json", "--pairs", "HC=3,HI=3"),
        report=lambda folder: report_plan(_plan(folder), ("HC", "HI")),
        has_figures=False,
    ),
    "votes": StudyCase(
        arguments=("@plan", "@votes.csv"),
        report=lambda folder: report_votes(_counted(folder)),
    ),
    "consensus": StudyCase(arguments=("@plan", "--votes", "@votes.csv"), report=_consensus),
    "ranking": StudyCase(arguments=("@sentences.json",), report=_ranking),
    "gaming": StudyCase(arguments=("--references", "@captions.json"), report=_gaming),
    "correlation": StudyCase(
        arguments=("@captions.json", "@ratings.csv", "-m", "BLEU-1,ROUGE-L"), report=_correlation
    ),
    "metric": StudyCase(
        arguments=("ROUGE-L", "thumb=@thumb", "-m", "BLEU-1"), report=_metric, has_figures=False
    ),
    "judging": StudyCase(arguments=("M1=@m1.csv",), report=_judging),
    "effort": StudyCase(arguments=("100",), report=_effort),
    "diversity": StudyCase(arguments=("@captions.json", "--images", "4"), report=_diversity),
    "domains": StudyCase(
        arguments=("@domains.json", "@results.json", "-m", "BLEU-1,CIDEr-D"), report=_domains
    ),
    "nocaps-paper": StudyCase(
        arguments=("@domains.json", "--coco", "@captions.json", "-m", "CIDEr-D"), report=_nocaps_paper
    ),
    "choose": StudyCase(arguments=("@boxes.csv", "-n", "15"), report=_choose),
    "priming": StudyCase(
        arguments=("@plain.json", "@captions.json", "--keywords", "@items.jsonl"), report=_priming
    ),
    "build": StudyCase(
        arguments=("@captions.json", "@plans.json", "--release", "1.0"), report=_build, has_figures=False
    ),
}
