"""Django app configuration."""

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_save


class AccountsConfig(AppConfig):
    """Configuration of the accounts app."""

    name = "capeval_server.accounts"
    # allauth's app is already called "Accounts" in the admin.
    verbose_name = "API tokens"

    def ready(self) -> None:
        """Update the name keys whenever a user is saved."""
        from capeval_server.accounts.services.users import update_name_keys

        post_save.connect(update_name_keys, sender=settings.AUTH_USER_MODEL, dispatch_uid="keys of names")
