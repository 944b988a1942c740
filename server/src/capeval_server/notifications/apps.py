"""The application for Django."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.notifications"
    # The label is part of the names of tables and migrations.
    label = "notices"

    def ready(self) -> None:
        """Notify users when a submission ends."""
        from capeval_server.notifications.services import tell_end
        from capeval_server.submissions.services.lifecycle import ended

        ended.connect(tell_end, dispatch_uid="ends of submissions")
