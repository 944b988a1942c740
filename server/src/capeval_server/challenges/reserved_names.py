"""Names that challenges and phases can't have, since addresses of pages begin with them."""

from __future__ import annotations

__all__ = ["NOT_CHALLENGES", "NOT_PHASES"]

# The first words of addresses, and the words that come after a challenge's in them.
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
        "organize",
        "pictures",
        "rules",
        "submissions",
        "team",
    ]
)
