"""Name of a submission's method, as its team declares it."""

from __future__ import annotations

from collections.abc import Mapping

from capeval_server.challenges.link_validation import safe_link
from capeval_server.challenges.models import Challenge
from capeval_server.submissions.models import Submission

__all__ = ["choose_method", "name_method", "name_system"]

_LONGEST = 100


def choose_method(challenge: Challenge, declared: Mapping[str, str], algorithm: str) -> str:
    """Return the first declared public text that is not a link, or else the name in the file names.

    Args:
        challenge: The challenge.
        declared: The declared fields by name.
        algorithm: The name in the names of the results files.
    """
    texts = {field.name for field in challenge.declared_fields if field.type == "text"}
    shown = (" ".join(text.split()) for name, text in challenge.shown(declared).items() if name in texts)
    return next((text for text in shown if text and not safe_link(text)), algorithm)


def name_method(submission: Submission, challenge: Challenge) -> str:
    """Return the name of a submission's method, shortened to 100 characters."""
    name = choose_method(challenge, submission.declared, submission.algorithm)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def name_system(submission: Submission, challenge: Challenge) -> str:
    """Return the name of a submission's method and, if it is different, its team."""
    name = name_method(submission, challenge)
    return name if name == submission.entrant else f"{name} ({submission.entrant})"
