"""Django application of the annotation campaigns."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnnotationConfig(AppConfig):
    """Configuration of the annotation app."""

    name = "capeval_server.annotation"

    def ready(self) -> None:
        """Register the columns of judgments, and install the triggers that protect answers."""
        from capeval_server.annotation.core.triggers import install
        from capeval_server.annotation.releases.human_columns import list_board_columns
        from capeval_server.leaderboards.judgments import register_judgments

        register_judgments(list_board_columns)
        post_migrate.connect(install, sender=self, dispatch_uid="the triggers of annotation")
