"""The application for Django."""

from django.apps import AppConfig


class Config(AppConfig):
    """The application's name and place."""

    name = "capeval_server.submissions"

    def ready(self) -> None:
        """Registers the jobs of this room."""
        from capeval_server.jobs.handlers import register
        from capeval_server.submissions.scoring_jobs import ScoringHandler
        from capeval_server.submissions.tidying import TidyingHandler

        register(ScoringHandler)
        register(TidyingHandler)
