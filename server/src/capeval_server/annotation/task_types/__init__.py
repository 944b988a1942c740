"""The kinds of work that campaigns give out: one file a kind, which says all about itself."""

from __future__ import annotations

from capeval_server.annotation.task_types import judgments, pairwise, quiz, triplet, write
from capeval_server.annotation.task_types.base import TASKS, TaskType, task_named
from capeval_server.annotation.task_types.quiz import task_of

__all__ = ["TASKS", "TaskType", "judgments", "pairwise", "quiz", "task_named", "task_of", "triplet", "write"]
