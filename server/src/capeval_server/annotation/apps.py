"""The application for Django."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnnotationConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.annotation"

    def ready(self) -> None:
        """Has the database protect what people answered."""
        from capeval_server.annotation.core.triggers import install

        post_migrate.connect(install, sender=self, dispatch_uid="the triggers of annotation")
