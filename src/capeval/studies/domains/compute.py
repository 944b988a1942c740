"""Scores by domain and overall (nocaps, section 3.3, Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capeval.data.captions import Candidates, CandidatesLike, ImageId, References, ReferencesLike
from capeval.data.scores import FloatArray, Signature
from capeval.errors import MismatchError, OptionError
from capeval.errors.messages import format_images
from capeval.metrics.base import Metric, Prepared, get_unscored_warning, make_scores
from capeval.metrics.registry import DEFAULT, list_metric_keys, resolve
from capeval.scoring.evaluator import Evaluator
from capeval.scoring.matching import match_captions
from capeval.scoring.multiple_comparisons import compare_systems
from capeval.scoring.report import Report, create_report
from capeval.scoring.significance import Comparisons, Interval, Resampler
from capeval.studies.domains.options import DomainOptions, DomainTestOptions, Frequencies
from capeval.tokenizers import TokenizedReferences, Tokenizer

__all__ = [
    "COCO",
    "OVERALL",
    "DomainEvaluator",
    "DomainOptions",
    "DomainScores",
    "DomainStudy",
    "DomainTestOptions",
    "Frequencies",
    "study_domains",
]

OVERALL = "overall"
"""The name of the set of all images."""

COCO = "COCO"
"""The name of the images of COCO."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DomainScores:
    """Scores of one system in each domain, and overall in last place.

    Attributes:
        images: The number of images, by domain.
        corpus: The corpus scores, by domain and name.
        statistics: The summed statistics of each metric, by domain and the metric's key; for BLEU, these are
            length, reference length, matched n-grams and possible n-grams.
        signatures: The signatures of scores, by domain and the metric's key.
        frequencies: The images that provide the document frequencies of a domain: `all`, or only the images
            of the `domain`; None if no metric counts document frequencies in the references.
        weighted: The names of the scores that depend on these document frequencies.
        notes: A sentence for each reason for missing scores of images.
        reports: The report of each domain, with the statistics of its images.
        intervals: The bootstrap interval of each score, by domain and name; empty, except in studies.
    """

    images: Mapping[str, int]
    corpus: Mapping[str, Mapping[str, float]]
    statistics: Mapping[str, Mapping[str, FloatArray]] = field(repr=False)
    signatures: Mapping[str, Mapping[str, Signature]] = field(repr=False)
    frequencies: Frequencies | None = None
    weighted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reports: Mapping[str, Report] = field(default_factory=dict, repr=False)
    intervals: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class DomainStudy:
    """Scores of systems by domain.

    Attributes:
        systems: The scores of each system.
        coco: The corpus scores on COCO, by system; empty if not requested.
        comparisons: The comparisons of pairs of systems in each domain, overall and on COCO
            (`compare_systems`); empty for one system.
    """

    systems: Mapping[str, DomainScores]
    coco: Mapping[str, Mapping[str, float]]
    comparisons: Mapping[str, Mapping[tuple[str, str], Comparisons]] = field(default_factory=dict)


class DomainEvaluator:
    """References prepared once, to score several systems by domain.

    Captions are tokenized once. Each metric scores them once, and its statistics are summed by domain. Only
    metrics with the document frequencies of the domain score again for each domain.

    Args:
        references: The references of each image.
        domains: The images of each domain; every image belongs to exactly one domain.
        metrics: Names or metric objects.
        options: `options.frequencies` selects the images in which CIDEr and CIDEr-D count document
            frequencies for a domain, unless they have precomputed ones: `all` images, as in the nocaps
            benchmark, or only the images of the `domain`, as in some published logs.
        tokenizer: The tokenizer; the reference tokenizer by default.

    Raises:
        CaptionError: `references` does not map images to captions.
        MismatchError: An image has no domain, or two, or a domain has an image without references.
        OptionError: A metric is unknown, or occurs twice.

    Example:
        >>> from capeval.studies.domains import DomainEvaluator
        >>> references = {1: ["a dog runs"], 2: ["two cats sleep"], 3: ["a red bus"]}
        >>> domains = {"animals": [1, 2], "vehicles": [3]}
        >>> evaluator = DomainEvaluator(references, domains, ["BLEU-1"])
        >>> scores = evaluator.evaluate({1: "a dog sits", 2: "two dogs run", 3: "a red bus"})
        >>> {domain: round(each["BLEU-1"], 3) for domain, each in scores.corpus.items()}
        {'animals': 0.5, 'vehicles': 1.0, 'overall': 0.667}
    """

    def __init__(
        self,
        references: ReferencesLike,
        domains: Mapping[str, Sequence[ImageId]],
        metrics: Iterable[str | Metric] = DEFAULT,
        options: DomainOptions = DomainOptions(),  # noqa: B008 - it is immutable.
        *,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        resolved = resolve(metrics)
        references = References(references)
        self._rows = _group_rows(references, domains)
        self._tokens = TokenizedReferences(references, tokenizer)
        self._keys = list_metric_keys(resolved)
        counting = [metric for metric in resolved if metric.frequency_unit is not None]
        self._frequencies: Frequencies | None = options.frequencies if counting else None
        self._weighted = tuple(name for metric in counting for name in metric.names)
        self._prepared = {OVERALL: [metric.prepare(self._tokens) for metric in resolved]}
        for name, rows in self._rows.items():
            self._prepared[name] = (
                self._prepare_domain(name, rows)
                if options.frequencies == "domain"
                else self._prepared[OVERALL]
            )

    def _prepare_domain(self, domain: str, rows: Sequence[int]) -> list[Prepared]:
        """Return a domain's metrics, prepared again if they use the domain's frequencies."""
        within = []
        counted: TokenizedReferences | None = None
        for prepared in self._prepared[OVERALL]:
            metric = prepared.metric
            if metric.frequency_unit is None:
                within.append(prepared)
                continue
            if counted is None:
                tokens = References({row: self._tokens.native.of(row) for row in rows})
                counted = TokenizedReferences(tokens, Tokenizer(kind="none"))
            within.append(metric.with_corpus(counted, domain).prepare(self._tokens))
        return within

    def evaluate(self, candidates: CandidatesLike) -> DomainScores:
        """Score one candidate for each image.

        Raises:
            CaptionError: `candidates` does not map images to captions.
            MismatchError: Images of candidates and references differ, or an image has several candidates.
        """
        _, candidates, _ = match_captions(self._tokens.references, Candidates(candidates))
        tokens = self._tokens.candidates(candidates)
        every = list(range(len(self._tokens)))
        rows_by_metric: dict[int, FloatArray] = {}
        images, corpus, statistics, signatures, reports = {}, {}, {}, {}, {}
        for name, rows in {**self._rows, OVERALL: every}.items():
            ids = tuple(tokens.image_ids[row] for row in rows)
            scores = []
            for prepared in self._prepared[name]:
                if id(prepared) not in rows_by_metric:
                    rows_by_metric[id(prepared)] = prepared.statistics(tokens)
                own = rows_by_metric[id(prepared)][rows]
                scores.append((prepared.metric, make_scores(prepared, own, ids)))
            report = create_report(ids, tuple(scores))
            sums = (each.statistics.sum(axis=0) for _, each in scores)
            images[name], corpus[name], reports[name] = len(rows), report.corpus, report
            statistics[name] = dict(zip(self._keys, sums, strict=True))
            signatures[name] = report.signatures
        found = (
            get_unscored_warning(prepared.metric, rows_by_metric[id(prepared)], tokens.image_ids)
            for prepared in self._prepared[OVERALL]
        )
        return DomainScores(
            images=images,
            corpus=corpus,
            statistics=statistics,
            signatures=signatures,
            frequencies=self._frequencies,
            weighted=self._weighted,
            notes=tuple(dict.fromkeys(f"{each}." for each in found if each is not None)),
            reports=reports,
        )


def study_domains(
    evaluator: DomainEvaluator,
    systems: Mapping[str, Candidates],
    options: DomainTestOptions = DomainTestOptions(),  # noqa: B008 - it is immutable.
    *,
    coco: tuple[Evaluator, Mapping[str, Candidates]] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> DomainStudy:
    """Score systems by domain with intervals, compare them, and score them on COCO if captions are given.

    Several systems are compared in each domain, overall and on COCO, with `compare_systems`. P-values are
    corrected for the number of pairs, but not for the number of domains.

    Args:
        evaluator: The references, with domains.
        systems: The candidates of each system.
        options: The pairs to compare, the resamples, and the level of intervals and tests.
        coco: COCO's references, and the candidates of each system for them.
        progress: Called with a description of the next step, once for each system, once for COCO, and once
            for the tests.

    Raises:
        MismatchError: Images of candidates and references differ, or an image has several candidates; the
            error names the system.

    Example:
        >>> from capeval import Candidates
        >>> from capeval.studies.domains import DomainEvaluator, study_domains
        >>> domains = {"animals": [1], "vehicles": [2]}
        >>> evaluator = DomainEvaluator({1: ["a dog runs"], 2: ["a red bus"]}, domains, ["BLEU-1"])
        >>> systems = {
        ...     "transformer": Candidates({1: "a dog runs", 2: "a red car"}),
        ...     "template": Candidates({1: "a cat sits", 2: "a red bus"}),
        ... }
        >>> study = study_domains(evaluator, systems)
        >>> {name: round(each.corpus["animals"]["BLEU-1"], 3) for name, each in study.systems.items()}
        {'transformer': 1.0, 'template': 0.333}
    """
    scored = {}
    for name, candidates in systems.items():
        progress(f"Scoring {name}")
        try:
            scored[name] = evaluator.evaluate(candidates)
        except MismatchError as error:
            raise MismatchError(f"{name}: {error}") from None
    on_coco: dict[str, Report] = {}
    if coco is not None:
        progress("Scoring COCO")
        on_coco = {name: coco[0].evaluate(candidates) for name, candidates in coco[1].items()}
    progress("Computing intervals and tests")
    resampler = Resampler(samples=options.samples, seed=options.seed)
    return DomainStudy(
        systems={name: _add_intervals(each, resampler, options.level) for name, each in scored.items()},
        coco={name: report.corpus for name, report in on_coco.items()},
        comparisons=_compare(scored, on_coco, options) if len(scored) > 1 else {},
    )


def _add_intervals(scores: DomainScores, resampler: Resampler, level: float) -> DomainScores:
    intervals = {
        domain: {name: each.interval(level=level) for name, each in resampler.resample(report).items()}
        for domain, report in scores.reports.items()
    }
    return replace(scores, intervals=intervals)


def _compare(
    systems: Mapping[str, DomainScores], on_coco: Mapping[str, Report], options: DomainTestOptions
) -> dict[str, dict[tuple[str, str], Comparisons]]:
    """Compare the systems in each domain, overall and on COCO."""
    domains = next(iter(systems.values())).reports
    sets = {domain: {name: each.reports[domain] for name, each in systems.items()} for domain in domains}
    if on_coco:
        sets[COCO] = dict(on_coco)
    return {
        name: compare_systems(
            reports,
            all_pairs=options.all_pairs,
            samples=options.samples,
            level=options.level,
            seed=options.seed,
        )
        for name, reports in sets.items()
    }


def _group_rows(references: References, domains: Mapping[str, Sequence[ImageId]]) -> dict[str, list[int]]:
    """Return the rows of each domain, in the order of the references."""
    if not domains or OVERALL in domains:
        raise OptionError(
            f"'domains' must have at least one domain, and none named {OVERALL!r}"
            f" (got {', '.join(domains) or 'none'})"
        )
    domain_of: dict[ImageId, str] = {}
    for name, images in domains.items():
        if not images:
            raise OptionError(f"domain {name!r} must have at least one image (got none)")
        unknown = [image for image in images if image not in references]
        if unknown:
            raise MismatchError(f"domain {name!r}: {format_images(unknown)} not among the references")
        for image in images:
            if image in domain_of:
                raise MismatchError(
                    f"an image must have one domain (got {domain_of[image]} and {name} for image {image!r})"
                )
            domain_of[image] = name
    missing = [image for image in references.image_ids if image not in domain_of]
    if missing:
        raise MismatchError(f"{format_images(missing)} without a domain")
    rows: dict[str, list[int]] = {name: [] for name in domains}
    for row, image in enumerate(references.image_ids):
        rows[domain_of[image]].append(row)
    return rows
