"""The application for Django."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.audit"
    # The label is part of the names of tables and migrations.
    label = "organising"

    def ready(self) -> None:
        """Record changes that are made in the administration."""
        from capeval_server.audit.models import record_done
        from capeval_server.core.admin import done

        done.connect(record_done, dispatch_uid="what is done in the administration")
