"""Task types: the types of work in campaigns, one class each."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from capeval_server.annotation.task_types.base import (
    TASKS,
    ChoiceQuestion,
    OneQuestion,
    TaskType,
    register,
    task_named,
    validate_keys,
    validate_text,
)
from capeval_server.annotation.task_types.quiz import task_of
from capeval_server.annotation.task_types.results import CaptionResult, RatedQuestion, RatingResult
from capeval_server.annotation.task_types.votes import PairVotes, TripletVotes

# Each module of this folder registers its task types.
for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "TASKS",
    "CaptionResult",
    "ChoiceQuestion",
    "OneQuestion",
    "PairVotes",
    "RatedQuestion",
    "RatingResult",
    "TaskType",
    "TripletVotes",
    "register",
    "task_named",
    "task_of",
    "validate_keys",
    "validate_text",
]
