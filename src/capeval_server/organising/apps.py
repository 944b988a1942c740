"""The application for Django."""

from django.apps import AppConfig


class Config(AppConfig):
    """The application's name and place."""

    name = "capeval_server.organising"

    def ready(self) -> None:
        """Has what is done in the administration recorded."""
        from capeval_server.organising.models import record_done
        from capeval_server.staff import done

        done.connect(record_done, dispatch_uid="what is done in the administration")
