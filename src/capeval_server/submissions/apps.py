"""The application for Django."""

from django.apps import AppConfig


class Config(AppConfig):
    """The application's name and place."""

    name = "capeval_server.submissions"

    def ready(self) -> None:
        """Registers the jobs of this room, and has the quotas of deleted accounts kept."""
        from django.conf import settings
        from django.db.models.signals import post_save, pre_delete

        from capeval_server.jobs.handlers import register
        from capeval_server.submissions.former import note_departure, note_return
        from capeval_server.submissions.scoring_jobs import ScoringHandler
        from capeval_server.submissions.tidying import TidyingHandler

        register(ScoringHandler)
        register(TidyingHandler)
        pre_delete.connect(note_departure, sender=settings.AUTH_USER_MODEL, dispatch_uid="departures")
        post_save.connect(note_return, sender="teams.Membership", dispatch_uid="returns")
