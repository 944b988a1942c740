"""Django app configuration."""

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """Configuration of the submissions app."""

    name = "capeval_server.submissions"

    def ready(self) -> None:
        """Track the quota used by former members of teams."""
        from django.conf import settings
        from django.db.models.signals import post_save, pre_delete

        from capeval_server.submissions.quotas.former_members import note_deletion, note_leaving, note_return
        from capeval_server.teams.services.membership import left

        left.connect(note_leaving, dispatch_uid="who leaves a team")
        # The teams app first removes deleted users from their teams.
        pre_delete.connect(note_deletion, sender=settings.AUTH_USER_MODEL, dispatch_uid="deleted accounts")
        post_save.connect(note_return, sender="teams.Membership", dispatch_uid="returns")
