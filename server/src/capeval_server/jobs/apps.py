"""The application for Django."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.jobs"
