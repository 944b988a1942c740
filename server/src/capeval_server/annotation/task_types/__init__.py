"""Task types: the kinds of work in campaigns, one class each."""

from __future__ import annotations

from capeval_server.annotation.task_types import judgments, pairwise, quiz, triplet, write
from capeval_server.annotation.task_types.base import (
    TASKS,
    ChoiceQuestion,
    OneQuestion,
    TaskType,
    checked_keys,
    checked_text,
    register,
    task_named,
)
from capeval_server.annotation.task_types.quiz import task_of
from capeval_server.annotation.task_types.results import CaptionResult, RatedQuestion, RatingResult
from capeval_server.annotation.task_types.votes import PairVotes, TripletVotes

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
    "checked_keys",
    "checked_text",
    "judgments",
    "pairwise",
    "quiz",
    "register",
    "task_named",
    "task_of",
    "triplet",
    "write",
]
