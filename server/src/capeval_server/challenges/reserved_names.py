"""Reserved names of challenges and phases: path segments of pages."""

from __future__ import annotations

__all__ = ["NOT_CHALLENGES", "NOT_PHASES"]

# First path segments of pages, and path segments that follow a challenge's.
NOT_CHALLENGES = frozenset(
    [
        "accounts",
        "admin",
        "annotate",
        "campaigns",
        "api",
        "campaigns",
        "healthz",
        "jobs",
        "metrics",
        "new",
        "notices",
        "reached",
        "readyz",
        "static",
        "submissions",
        "tokens",
    ]
)
NOT_PHASES = frozenset(
    [
        "announcements",
        "contact",
        "data",
        "faq",
        "images",
        "join",
        "judgments",
        "link",
        "organize",
        "pages",
        "pictures",
        "rules",
        "submissions",
        "team",
    ]
)
