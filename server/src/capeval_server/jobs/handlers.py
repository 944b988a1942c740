"""Job handlers, one per kind of job, registered by the `jobs` modules of apps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from typing import ClassVar, TypeVar

from capeval_server.jobs.models import Job

__all__ = ["HANDLERS", "Handler", "handlers", "recurring", "register"]


class Handler(AbstractContextManager["Handler"], ABC):
    """Base class of the handler of one kind of job; runs one job at a time.

    Attributes:
        kind: The kind of job.
        every: The pause before a recurring job runs again; None if the job runs once.
        priority: The priority of a recurring job; by default after all others.
        waits_for_hosts: Whether workers run its jobs in a separate thread, because other hosts may not
            respond.
    """

    kind: ClassVar[str]
    every: ClassVar[timedelta | None] = None
    priority: ClassVar[int] = 9
    waits_for_hosts: ClassVar[bool] = False

    def __exit__(self, *_: object) -> None:
        """Release resources kept between jobs; by default, do nothing."""

    @abstractmethod
    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Run a job, and call `leases.finish` in the transaction that writes the result.

        Args:
            job: A job that the worker holds.
            renew: Must be called every few seconds to keep the lease. Its exceptions must be propagated.
        """

    def wait(self, job: Job, log: str) -> None:
        """Record that a job waits for another attempt, in the transaction of its release.

        Args:
            job: The job.
            log: The reason why the attempt failed; empty if it did not fail.
        """

    def give_up(self, job: Job, reason: str, log: str) -> None:
        """Record that a job will not be retried, in the transaction that ends it.

        Args:
            job: The job.
            reason: The reason, without error texts.
            log: The full reason why the last attempt failed; empty if unknown.
        """


_Class = TypeVar("_Class", bound=type[Handler])

HANDLERS: dict[str, type[Handler]] = {}
"""The registered handlers by kind of job."""


def register(handler: _Class) -> _Class:
    """Add a handler to `HANDLERS`; used as a decorator.

    Raises:
        ValueError: The kind already has a handler.
    """
    if handler.kind in HANDLERS:
        raise ValueError(f"a handler of the kind {handler.kind!r} is already registered")
    HANDLERS[handler.kind] = handler
    return handler


def recurring() -> list[str]:
    """Return the kinds of recurring jobs."""
    return [kind for kind, handler in HANDLERS.items() if handler.every is not None]


@contextmanager
def handlers() -> Iterator[Mapping[str, Handler]]:
    """Yield a handler of each kind, by kind, and exit them at the end."""
    with ExitStack() as stack:
        yield {kind: stack.enter_context(handler()) for kind, handler in HANDLERS.items()}
