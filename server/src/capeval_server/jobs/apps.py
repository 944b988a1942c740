"""Django app configuration."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class JobsConfig(AppConfig):
    """Configuration of the jobs app."""

    name = "capeval_server.jobs"

    def ready(self) -> None:
        """Import the `jobs` module of each app, which registers its handlers."""
        autodiscover_modules("jobs")
