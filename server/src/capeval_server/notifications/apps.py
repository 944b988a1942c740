"""Django app configuration."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Configuration of the notifications app."""

    name = "capeval_server.notifications"
    # Tables and migrations contain the label, so it keeps its old name.
    label = "notices"

    def ready(self) -> None:
        """Notify users when a submission ends, and when they are approved."""
        from capeval_server.notifications.services import notify_approval, notify_outcome
        from capeval_server.submissions.services.lifecycle import ended
        from capeval_server.teams.services.enrollment import approved

        approved.connect(notify_approval, dispatch_uid="approvals of members")
        ended.connect(notify_outcome, dispatch_uid="ends of submissions")
