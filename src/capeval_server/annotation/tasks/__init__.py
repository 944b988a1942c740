"""The kinds of work that campaigns give out: one file a kind, which says all about itself."""

from __future__ import annotations

from capeval_server.annotation.tasks import judging, pairwise, quiz, triplet, write
from capeval_server.annotation.tasks.base import TASKS, TaskType, task_named
from capeval_server.annotation.tasks.quiz import task_of

__all__ = ["TASKS", "TaskType", "judging", "pairwise", "quiz", "task_named", "task_of", "triplet", "write"]
