from datetime import timedelta
from typing import Any

from django.db import migrations
from django.utils import timezone


def fill(apps: Any, _: Any) -> None:
    """The member who joined first owns a team, and codes are valid for a week more."""
    Membership = apps.get_model("teams", "Membership")
    seen = set()
    for membership in Membership.objects.order_by("team", "joined", "pk"):
        if membership.team_id not in seen:
            seen.add(membership.team_id)
            Membership.objects.filter(pk=membership.pk).update(owner=True)
    expires = timezone.now() + timedelta(days=7)
    apps.get_model("teams", "Team").objects.exclude(code=None).update(code_expires=expires)


# Apart from the migration that makes the columns: PostgreSQL adds no constraint to a table with changes that are pending.
class Migration(migrations.Migration):
    dependencies = [("teams", "0004_people")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
