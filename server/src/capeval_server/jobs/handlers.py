"""Handlers: one for each kind of job. Those in the module `jobs` of an app are found when Django starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from typing import ClassVar, TypeVar

from capeval_server.jobs.models import Job

__all__ = ["HANDLERS", "Handler", "handlers", "recurring", "register"]


class Handler(AbstractContextManager["Handler"], ABC):
    """Does the jobs of one kind, one after the other, while its worker runs.

    Attributes:
        kind: The kind.
        every: How long after one job is done it is done again; none if it is done once.
        priority: The priority of a job that is done again and again: by default, it comes after all others.
        waits_for_hosts: Whether workers do its jobs in a thread of their own, because other hosts may not
            answer.
    """

    kind: ClassVar[str]
    every: ClassVar[timedelta | None] = None
    priority: ClassVar[int] = 9
    waits_for_hosts: ClassVar[bool] = False

    def __exit__(self, *_: object) -> None:
        """Releases what the handler keeps between jobs; by default, nothing."""

    @abstractmethod
    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Does a job, and calls `leases.finish` in the transaction that writes the result.

        Args:
            job: A job that the worker holds.
            renew: Must be called every few seconds, to keep the lease; what it raises must be let through.
        """

    def wait(self, job: Job, log: str) -> None:
        """Notes that a job waits for another attempt, in the transaction that gives it back.

        Args:
            job: The job.
            log: Why the attempt failed; empty if it did not.
        """

    def give_up(self, job: Job, reason: str, log: str) -> None:
        """Notes that a job will not be tried again, in the transaction that ends it.

        Args:
            job: The job.
            reason: Why, without any text of an error.
            log: Why the last attempt failed, in full; empty if that is not known.
        """


_Class = TypeVar("_Class", bound=type[Handler])

HANDLERS: dict[str, type[Handler]] = {}
"""The registered handlers, by the kind of their jobs."""


def register(handler: _Class) -> _Class:
    """Add a handler to `HANDLERS`; used as a decorator.

    Raises:
        ValueError: Another handler has its kind.
    """
    if handler.kind in HANDLERS:
        raise ValueError(f"two handlers do jobs of the kind {handler.kind!r}")
    HANDLERS[handler.kind] = handler
    return handler


def recurring() -> list[str]:
    """The kinds of jobs that are done again and again."""
    return [kind for kind, handler in HANDLERS.items() if handler.every is not None]


@contextmanager
def handlers() -> Iterator[Mapping[str, Handler]]:
    """A handler of each kind, by its kind; they end with the context."""
    with ExitStack() as stack:
        yield {kind: stack.enter_context(handler()) for kind, handler in HANDLERS.items()}
