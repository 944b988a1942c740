"""Page with a caption browser for captions with known scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capeval._internal.optional_packages import make_missing_package_error
from capeval.data.captions import ImageId
from capeval.tokenizers import Tokenizer

if TYPE_CHECKING:
    from capeval.report.browser import ImageDetails, SystemCaptions

__all__ = ["render_captions_page"]


def render_captions_page(
    ids: Sequence[ImageId],
    scores: Sequence[str],
    systems: Sequence[SystemCaptions],
    references: Sequence[Sequence[str]],
    *,
    title: str,
    details: ImageDetails | None = None,
) -> str:
    """Render a page with a caption browser, sorted by the difference between the first two systems.

    Images with the lowest difference by the first score come first.

    Args:
        ids: The images.
        scores: The names of the scores.
        systems: The captions of each system, with their scores.
        references: The references of each image.
        title: The title of the page.
        details: Domains of images, for the filter of the page.

    Raises:
        DependencyError: jinja2 is not installed.
    """
    try:
        from capeval.report.browser import ImageDetails, build_browser, captions_data
        from capeval.report.templates import render_template
    except ImportError as error:
        raise make_missing_package_error("HTML pages need", error, "report") from None
    data = captions_data(
        ids, scores, systems, references, tokenizer=Tokenizer(), details=details or ImageDetails()
    )
    browser = build_browser(data, by=scores[0], other=systems[1].name)
    return render_template(
        "template.html",
        title=title,
        grid=None,
        systems=(),
        figures={},
        by=scores[0],
        examples={},
        browser=browser,
    )
