"""The application for Django."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.jobs"

    def ready(self) -> None:
        """Import the module `jobs` of each app, which registers its handlers."""
        autodiscover_modules("jobs")
