"""The application for Django."""

from django.apps import AppConfig


class HostingConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.hosting"

    def ready(self) -> None:
        """Register the job that writes exports."""
        from capeval_server.hosting.jobs import ExportHandler
        from capeval_server.jobs.handlers import register

        register(ExportHandler)
