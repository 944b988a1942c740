"""The application for Django."""

from django.apps import AppConfig


class Config(AppConfig):
    """The application's name and place."""

    name = "capeval_server.notices"

    def ready(self) -> None:
        """Registers the jobs of this room, and has the ends of submissions told."""
        from capeval_server.jobs.handlers import register
        from capeval_server.notices.events import tell_end
        from capeval_server.notices.sending import NoticesHandler
        from capeval_server.notices.webhooks import WebhooksHandler
        from capeval_server.submissions.lifecycle import ended

        register(NoticesHandler)
        register(WebhooksHandler)
        ended.connect(tell_end, dispatch_uid="ends of submissions")
