"""Django app configuration."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    """Configuration of the teams app."""

    name = "capeval_server.teams"

    def ready(self) -> None:
        """Before an account is deleted, keep its blocks and remove it from its teams."""
        from django.conf import settings
        from django.db.models.signals import pre_delete

        from capeval_server.teams.services.blocks import keep_addresses
        from capeval_server.teams.services.membership import leave_all

        user = settings.AUTH_USER_MODEL
        pre_delete.connect(keep_addresses, sender=user, dispatch_uid="addresses of the blocked")
        pre_delete.connect(leave_all, sender=user, dispatch_uid="members of teams")
