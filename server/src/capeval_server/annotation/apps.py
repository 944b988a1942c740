"""Django application of the annotation campaigns."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnnotationConfig(AppConfig):
    """Configuration of the annotation app."""

    name = "capeval_server.annotation"

    def ready(self) -> None:
        """Install the triggers that protect answers after each migration."""
        from capeval_server.annotation.core.triggers import install

        post_migrate.connect(install, sender=self, dispatch_uid="the triggers of annotation")
