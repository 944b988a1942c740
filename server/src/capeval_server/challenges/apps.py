"""Django app configuration."""

from django.apps import AppConfig


class ChallengesConfig(AppConfig):
    """Configuration of the challenges app."""

    name = "capeval_server.challenges"

    def ready(self) -> None:
        """Reject changes that remove the last organizer of a challenge."""
        from django.conf import settings
        from django.db.models.signals import m2m_changed, pre_delete

        from capeval_server.challenges.models import Challenge
        from capeval_server.challenges.services.organizers import check_deletion, check_removal

        through = Challenge.organizers.through
        m2m_changed.connect(check_removal, sender=through, dispatch_uid="the last organizer")
        pre_delete.connect(
            check_deletion, sender=settings.AUTH_USER_MODEL, dispatch_uid="accounts of last organizers"
        )
