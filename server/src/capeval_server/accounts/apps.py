"""The application for Django."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_save


class AccountsConfig(AppConfig):
    """The application's name and place."""

    name = "capeval_server.accounts"
    # In the administration, "Accounts" are allauth's.
    verbose_name = "API tokens"

    def ready(self) -> None:
        """Has the keys of users' names kept, whoever makes or renames a user."""
        from capeval_server.accounts.services.users import keep_keys

        post_save.connect(keep_keys, sender=settings.AUTH_USER_MODEL, dispatch_uid="keys of names")
