"""Moves leases and attempts from submissions to jobs, and workers to the jobs' room; no row is lost."""

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

UNFINISHED = ("waiting", "running")


def add_jobs(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Makes the job of each submission that waits or is being scored."""
    submissions: Any = apps.get_model("submissions", "Submission")
    unfinished = submissions.objects.filter(state__in=UNFINISHED)
    jobs = apps.get_model("jobs", "Job").objects
    jobs.bulk_create(
        jobs.model(
            kind="scoring",
            subject=str(submission.pk),
            priority=0 if submission.baseline_of_id is None else 1,
            created=submission.created,
            attempt=submission.attempt,
            lease=submission.lease,
            available_from=submission.lease_until,
        )
        for submission in unfinished.iterator()
    )


def drop_jobs(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Puts the attempts and leases of jobs back into their submissions."""
    submissions: Any = apps.get_model("submissions", "Submission").objects
    jobs = apps.get_model("jobs", "Job").objects.filter(kind="scoring")
    for job in jobs:
        submissions.filter(pk=job.subject).update(
            attempt=job.attempt, lease=job.lease, lease_until=job.available_from
        )
    jobs.delete()


class Migration(migrations.Migration):
    dependencies = [("submissions", "0001_initial"), ("jobs", "0001_initial")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.AlterModelTable("worker", "jobs_worker")],
            state_operations=[migrations.DeleteModel("worker")],
        ),
        migrations.RunPython(add_jobs, drop_jobs),
        migrations.RemoveField("submission", "attempt"),
        migrations.RemoveField("submission", "lease"),
        migrations.RemoveField("submission", "lease_until"),
    ]
