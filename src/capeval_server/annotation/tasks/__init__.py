"""The kinds of work that campaigns give out: one file a kind, which says all about itself."""

from __future__ import annotations

from capeval_server.annotation.tasks import judging, pairwise, triplet, write
from capeval_server.annotation.tasks.base import TASKS, TaskType, task_named

__all__ = ["TASKS", "TaskType", "judging", "pairwise", "task_named", "triplet", "write"]
