"""Self-contained HTML reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from capeval._internal.optional_packages import make_missing_package_error
from capeval._internal.validation import validate_choice
from capeval.data.captions import Candidates, ImageId, References
from capeval.errors import MismatchError
from capeval.metrics.sentences import list_candidate_sentences, list_reference_sentences
from capeval.report.tables import System, create_score_table
from capeval.tokenizers import TokenizedReferences, Tokenizer

if TYPE_CHECKING:
    from markupsafe import Markup

    from capeval.report.browser import ImageDetails

__all__ = ["to_html"]

_EXAMPLE_COUNT = 6


@dataclass(frozen=True, kw_only=True)
class _Example:
    """An image with its captions and, if a metric explains its score, drawn graphs."""

    image: ImageId
    score: str
    candidate: str
    references: list[str]
    graphs: tuple[Markup, Markup] | None


def to_html(
    systems: Sequence[System],
    *,
    title: str = "Caption scores",
    published: Mapping[str, Mapping[str, float]] | None = None,
    references: References | None = None,
    candidates: Mapping[str, Candidates] | None = None,
    examples_by: str | None = None,
    tokenizer: Tokenizer | None = None,
    source: str = "",
    pictures: Mapping[ImageId, str] | None = None,
    details: ImageDetails | None = None,
    brief: bool = False,
) -> str:
    """Create an HTML report with scores, intervals, subsets, plots and captions.

    If captions are given, the page includes a caption browser with all images. Readers can search captions,
    sort them by a score or by the difference between two systems, and see the n-grams shared by candidate and
    references. The examples are the images with the best and the worst scores; if a metric of the system
    compares scene graphs, the examples show them.

    Args:
        systems: The systems, all scored with the same metrics and subsets.
        title: The title of the page.
        published: Additional rows for comparison, as a mapping of names to scores.
        references: The references, to show captions.
        candidates: The candidates of each system by name, to show captions.
        examples_by: The initial sort key of captions, a score; by default the last one.
        tokenizer: The tokenizer that was used for the scores; by default the reference implementation's.
        source: A name for the references in the notes, such as the name of their file.
        pictures: The URL of each image's picture, to show with its captions; images may be missing.
        details: Domains of images and objects that captions must mention, to filter and mark captions.
        brief: Whether to omit plots and examples, so that the page contains scores and the caption browser.

    Raises:
        DependencyError: jinja2 is not installed, or matplotlib is not installed and the page has plots.
        MismatchError: The systems have different metrics or subsets, or were scored with a different
            tokenizer.
        OptionError: There is no score `examples_by`, or the URL of a picture has an invalid host.

    Example:
        >>> from pathlib import Path
        >>> from capeval import evaluate
        >>> from capeval.report import System, to_html
        >>> report = evaluate({1: ["A big red bus."]}, {1: "A red bus."}, ["ROUGE-1"])
        >>> page = to_html([System(name="Transformer", report=report)], title="Captions of buses", brief=True)
        >>> _ = Path("report.html").write_text(page, encoding="utf-8")
        >>> "<title>Captions of buses</title>" in page
        True
    """
    try:
        from capeval.report.browser import caption_browser
        from capeval.report.templates import render_template
    except ImportError as error:
        raise make_missing_package_error("HTML reports need", error, "report") from None
    figures = {} if brief else _draw_figures(systems, published or {})
    grid = create_score_table(systems, published, source=source)
    names = tuple(systems[0].report.corpus)
    by = validate_choice("examples_by", examples_by or names[-1], names)
    tokenizer = tokenizer or Tokenizer()
    examples, browser = {}, None
    shown = [system for system in systems if system.name in (candidates or {})]
    if references is not None and candidates is not None and shown:
        _require_tokenizer(tokenizer, shown)
        examples = {} if brief else _select_examples(shown, by, references, candidates, tokenizer)
        browser = caption_browser(
            shown, references, candidates, tokenizer=tokenizer, by=by, pictures=pictures, details=details
        )
    return render_template(
        "template.html",
        title=title,
        grid=grid,
        systems=systems,
        figures=figures,
        by=by,
        examples=examples,
        browser=browser,
    )


def _draw_figures(systems: Sequence[System], published: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Draw the plots: the panels `bars` and `spread`, and the colors of their legend."""
    try:
        from capeval.report import svg_plots
    except ImportError as error:
        raise make_missing_package_error("HTML reports need", error, "report") from None
    return {
        "bars": svg_plots.plot_bars(systems, published),
        "spread": svg_plots.plot_distributions(systems),
        "colors": svg_plots.list_colors(systems, published),
    }


def _select_examples(
    systems: Sequence[System],
    by: str,
    references: References,
    candidates: Mapping[str, Candidates],
    tokenizer: Tokenizer,
) -> dict[str, dict[str, list[_Example]]]:
    """Return the images with the best and the worst scores of each system."""
    examples: dict[str, dict[str, list[_Example]]] = {}
    for system in systems:
        values = system.report.per_image[by]
        # Stable, so that images with equal scores stay in the order of the references. Images without a score
        # come last and are excluded.
        goodness = -values if by in system.report.lower_is_better else values
        order = np.argsort(-goodness, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        count = min(_EXAMPLE_COUNT, len(order) // 2)
        chosen = {"Best": order[:count], "Worst": order[len(order) - count :][::-1]}
        images = [system.report.image_ids[row] for rows in chosen.values() for row in rows]
        said = candidates[system.name]
        graphs = (
            _draw_graphs(system, references.select(images), said.select(images), tokenizer) if images else {}
        )
        examples[system.name] = {
            label: [
                _create_example(system, int(row), float(values[row]), references, said, graphs)
                for row in rows
            ]
            for label, rows in chosen.items()
        }
    return examples


def _create_example(
    system: System,
    row: int,
    score: float,
    references: References,
    candidates: Candidates,
    graphs: Mapping[ImageId, tuple[Markup, Markup]],
) -> _Example:
    image = system.report.image_ids[row]
    return _Example(
        image=image,
        score=f"{score:.3f}",
        candidate=candidates[image][0],
        references=references[image],
        graphs=graphs.get(image),
    )


def _draw_graphs(
    system: System, references: References, candidates: Candidates, tokenizer: Tokenizer
) -> dict[ImageId, tuple[Markup, Markup]]:
    """Draw the scene graphs of candidates and references, if a metric compares them."""
    from capeval.report.scene_graphs import draw_graph

    tokens = TokenizedReferences(references, tokenizer)
    ours = tokens.candidates(candidates)
    read = {
        "tokens": (ours.texts(), [tokens.texts(image) for image in references]),
        "sentences": (list_candidate_sentences(ours), list_reference_sentences(tokens)),
        "captions": ([candidates[image][0] for image in references], [*references.values()]),
    }
    unscored = {image for each in system.report.unscored.values() for image in each.images}
    for metric, _ in system.report.scores:
        compared = (
            (image, metric.explain(candidate, others))
            for image, candidate, others in zip(references, *read[metric.input_kind], strict=True)
            if image not in unscored
        )
        graphs = {
            image: (
                draw_graph(each.candidate, f"Scene graph of the candidate of image {image}"),
                draw_graph(each.references, f"Scene graph of the references of image {image}"),
            )
            for image, each in compared
            if each is not None
        }
        if graphs:
            return graphs
    return {}


def _require_tokenizer(tokenizer: Tokenizer, systems: Sequence[System]) -> None:
    for metric, made in (scored for system in systems for scored in system.report.scores):
        if metric.input_kind != "captions" and made.signature.tokenizer != str(tokenizer):
            raise MismatchError(
                f"'tokenizer' must be the tokenizer of the scores, {made.signature.tokenizer}"
                f" (got {tokenizer})"
            )
