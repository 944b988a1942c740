"""The application for Django."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.teams"

    def ready(self) -> None:
        """Has blocks kept, and teams left, when an account is deleted."""
        from django.conf import settings
        from django.db.models.signals import pre_delete

        from capeval_server.teams.services.blocks import keep_addresses
        from capeval_server.teams.services.membership import leave_all

        user = settings.AUTH_USER_MODEL
        pre_delete.connect(keep_addresses, sender=user, dispatch_uid="addresses of the blocked")
        pre_delete.connect(leave_all, sender=user, dispatch_uid="members of teams")
