"""The application for Django."""

from django.apps import AppConfig


class Config(AppConfig):
    """The application's name and place."""

    name = "capeval_server.organising"

    def ready(self) -> None:
        """Registers the jobs of this room, and has what is done in the administration recorded."""
        from capeval_server.jobs.handlers import register
        from capeval_server.organising.exporting import ExportHandler
        from capeval_server.organising.models import record_done
        from capeval_server.staff import done

        register(ExportHandler)
        done.connect(record_done, dispatch_uid="what is done in the administration")
