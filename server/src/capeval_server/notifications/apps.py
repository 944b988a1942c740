"""The application for Django."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.notifications"
    # The label is part of the names of tables and migrations.
    label = "notices"

    def ready(self) -> None:
        """Registers the jobs of this room, and has the ends of submissions told."""
        from capeval_server.jobs.handlers import register
        from capeval_server.notifications.mail_jobs import NoticesHandler
        from capeval_server.notifications.services import tell_end
        from capeval_server.notifications.webhooks import WebhooksHandler
        from capeval_server.submissions.services.lifecycle import ended

        register(NoticesHandler)
        register(WebhooksHandler)
        ended.connect(tell_end, dispatch_uid="ends of submissions")
