"""Simulated workers of a campaign that skip, report and return items, answer late, and get blocked.

As a program, `python -m tests.server.annotation_robots CAMPAIGN SEED NUMBER OF`, it is one of several
processes whose robots work on the same campaign. It prints the keys of the answers that were acknowledged.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capeval_server.annotation.models import Assignment, Campaign, Participation

__all__ = ["Crowd", "check_end"]

# Above this number of slots, organizer actions become rarer in proportion: blocking or unblocking a worker
# fills or empties one slot per answer.
_MANAGED = 5_000


class Crowd:
    """Simulated workers of one process, and at times an organizer, with actions drawn from a seed.

    Attributes:
        acknowledged: The keys of the answers that were acknowledged.
        done: How often each thing was done.
    """

    def __init__(self, workers: Sequence[Participation], reviewer: Any, seed: int) -> None:
        from capeval_server.annotation.responses.submit import SubmittedAnswer

        self.workers, self.reviewer = list(workers), reviewer
        self.random = random.Random(seed)
        self.acknowledged: list[str] = []
        self.done: dict[str, int] = {}
        self._given = SubmittedAnswer
        self._late: list[Assignment] = []
        self._rarely = 1.0

    def run(self, campaign: Campaign) -> None:
        """Work until every worker has requested work and received none."""
        from capeval_server.annotation.models import Slot

        self._rarely = max(1, Slot.objects.filter(item__campaign=campaign).count() / _MANAGED)
        idle = 0
        while idle < 2 * len(self.workers):
            worker = self.random.choice(self.workers)
            idle = 0 if self._work(campaign, worker) else idle + 1
            self._manage(campaign, worker)
        # Drawn at random, the one worker who could still be given the last item may not have been asked.
        while any(self._work(campaign, worker) for worker in self.workers):
            pass

    def _work(self, campaign: Campaign, worker: Participation) -> bool:
        """Handle the assignments of a worker; return whether there were any."""
        from capeval_server.annotation.responses import assignment

        found = assignment.assign_work(worker).assignments
        for held in found:
            self._one(held)
        if not found:
            # Expire the leases of abandoned items at once instead of waiting.
            self._run_out(campaign)
        return bool(found)

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1

    def _one(self, held: Assignment) -> None:
        """Handle an assignment with a random action of a worker."""
        from capeval.errors import CapevalError
        from capeval_server.annotation.responses import assignment

        doings: list[tuple[float, str, Callable[[], object]]] = [
            (0.80, "answer", lambda: self._answer(held)),
            (0.05, "skip", lambda: assignment.set_aside(held, "skipped", "too hard")),
            (0.04, "return", lambda: assignment.set_aside(held, "returned")),
            (0.005, "report", lambda: assignment.report_item(held, "not loading")),
            (0.025, "draft", lambda: assignment.save_draft(held, {"caption": "a"})),
            (0.08, "leave", lambda: self._leave(held)),
        ]
        ((_, name, do),) = self.random.choices(doings, [weight for weight, _, _ in doings])
        try:
            do()
            self._count(name)
        except CapevalError as error:
            # Another process has blocked the worker, reported the item or closed the campaign.
            self._count(f"{name}: {type(error).__name__}")

    def _answer(self, held: Assignment) -> None:
        key = self._send(held, 1, "a cart in a street")
        if self.random.random() < 0.05:
            self._send(held, 1, "a cart in a street", key)
        if self.random.random() < 0.05:
            self._send(held, 1, "another window")
        if self.random.random() < 0.05:
            self._send(held, 2, "a red cart in a street")

    def _send(self, held: Assignment, revision: int, text: str, key: str = "") -> str:
        from capeval_server.annotation.responses import submit

        key = key or f"{os.getpid()}-{self.random.getrandbits(64):x}"
        chosen = {"choice": self.random.choice(("left", "right"))}
        answer = {"caption": text} if held.item.campaign.kind == "write" else chosen
        outcome = submit.submit(held, self._given(answer=answer, revision=revision, key=key, events={}))
        if outcome.outcome != "answered":
            self.acknowledged.append(key)
        return key

    def _leave(self, held: Assignment) -> None:
        """Expire a lease as if time had passed; answer later or never."""
        from django.utils import timezone

        from capeval_server.annotation.models import Assignment as Rows
        from capeval_server.annotation.responses import assignment

        past = timezone.now() - timedelta(days=1)
        Rows.objects.filter(pk=held.pk).update(lease_until=past)
        assignment.expire_leases(held.item.campaign)
        if self._late and self.random.random() < 0.5:
            self._answer(self._late.pop(self.random.randrange(len(self._late))))
        self._late.append(held)

    def _run_out(self, campaign: Campaign) -> None:
        from django.utils import timezone

        from capeval_server.annotation.models import Assignment as Rows
        from capeval_server.annotation.responses import assignment

        mine = Rows.objects.filter(participation__in=self.workers, state="held")
        mine.update(lease_until=timezone.now() - timedelta(days=1))
        assignment.expire_leases(campaign)

    def _manage(self, campaign: Campaign, worker: Participation) -> None:
        """Take a random action of an organizer, or none."""
        from capeval.errors import CapevalError
        from capeval_server.annotation.campaigns import lifecycle
        from capeval_server.annotation.models import Exclusion
        from capeval_server.annotation.review import moderation

        chance = self.random.random() * self._rarely
        try:
            if chance < 0.004:
                moderation.block(None, worker, "spam")
                self._count("block")
            elif chance < 0.009:
                for block in Exclusion.objects.filter(campaign=campaign, lifted=None)[:1]:
                    moderation.unblock(None, block, "a mistake")
                    self._count("lift")
            elif chance < 0.011:
                lifecycle.change_state(None, campaign, "paused")
                lifecycle.change_state(None, campaign, "open")
                self._count("pause")
            elif chance < 0.15:
                self._review(campaign)
        except CapevalError as error:
            self._count(f"manage: {type(error).__name__}")

    def _review(self, campaign: Campaign) -> None:
        from capeval_server.annotation.review import moderation

        for response in moderation.list_review_queue(campaign)[:3]:
            bad = self.random.random() < 0.03
            verdict, reason = ("rejected", "nonsense") if bad else ("fine", "")
            moderation.review(self.reviewer, response, verdict, reason=reason)
            self._count(verdict)


def check_end(campaign: Campaign, acknowledged: Sequence[str]) -> None:
    """Check all invariants, and that each item has its answers or is listed as impossible to finish."""
    from capeval_server.annotation.campaigns.progress import get_progress
    from capeval_server.annotation.core.locks import held
    from capeval_server.annotation.models import Response
    from capeval_server.annotation.releases.integrity import audit

    with held(campaign) as now:
        found = [str(finding) for finding in audit(now)]
    assert not found, found
    stored = list(Response.objects.filter(item__campaign=campaign).values_list("key", flat=True))
    assert set(acknowledged) <= set(stored)
    assert len(set(stored)) == len(stored)
    progress = get_progress(campaign)
    assert progress.finished == progress.items or progress.waiting, progress
    counted = Response.objects.filter(item__campaign=campaign, filled_slot__isnull=False)
    assert progress.counted == counted.count()


def main(slug: str, seed: str, number: str, of: str) -> None:
    """Simulate a share of the workers of a campaign."""
    from django.contrib.auth.models import User

    from capeval_server.annotation.models import Campaign as Campaigns

    campaign = Campaigns.objects.get(slug=slug)
    workers = list(campaign.participations.order_by("pk"))[int(number) :: int(of)]
    crowd = Crowd(workers, User.objects.get(username="rita"), int(seed) + int(number))
    crowd.run(campaign)
    print(*crowd.acknowledged)
    print(crowd.done, file=sys.stderr)


if __name__ == "__main__":
    import django

    django.setup()
    main(*sys.argv[1:])
