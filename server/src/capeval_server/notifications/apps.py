"""Django app configuration."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Configuration of the notifications app."""

    name = "capeval_server.notifications"
    # Tables and migrations contain the label, so it keeps its old name.
    label = "notices"

    def ready(self) -> None:
        """Notify users when a submission ends."""
        from capeval_server.notifications.services import notify_outcome
        from capeval_server.submissions.services.lifecycle import ended

        ended.connect(notify_outcome, dispatch_uid="ends of submissions")
