"""Django app configuration."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Configuration of the audit app."""

    name = "capeval_server.audit"
    # Tables and migrations contain the label, so it keeps its old name.
    label = "organising"

    def ready(self) -> None:
        """Record changes made in the admin."""
        from capeval_server.audit.models import record_done
        from capeval_server.core.admin import done

        done.connect(record_done, dispatch_uid="what is done in the administration")
