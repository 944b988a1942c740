"""Recurring job that alerts the managers of campaigns."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from capeval_server.annotation.campaigns.alerts import list_watched, send_alert
from capeval_server.jobs import leases
from capeval_server.jobs.handlers import Handler, register
from capeval_server.jobs.models import Job

__all__ = ["CampaignsHandler"]


@register
class CampaignsHandler(Handler):
    """Handler of the job that alerts managers to campaigns that are paused, stuck or complete."""

    kind = "campaigns"
    every = timedelta(minutes=5)
    priority = 1

    def run(self, job: Job, renew: Callable[[], None]) -> None:
        """Check the condition of all campaigns, and schedule the next run."""
        for campaign in list_watched().select_related("challenge"):
            renew()
            send_alert(campaign)
        leases.finish(job, again_after=self.every)
