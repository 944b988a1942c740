from __future__ import annotations

from typing import Any

from django.db import migrations, models

from capeval_server.names import LONGEST_KEY, keys_of


def fill(apps: Any, _: Any) -> None:
    """Gives teams the keys of their names, as far as no earlier team of the challenge looks the same."""
    Team = apps.get_model("teams", "Team")
    seen: set[tuple[int, str, str]] = set()
    for team in Team.objects.order_by("pk").iterator():
        folded, look = keys_of(team.name)
        here = {(team.challenge_id, "folded", folded), (team.challenge_id, "look", look)}
        if not here & seen and max(len(folded), len(look)) <= LONGEST_KEY:
            seen |= here
            Team.objects.filter(pk=team.pk).update(folded=folded, look=look)


class Migration(migrations.Migration):
    dependencies = [("teams", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="team",
            name="folded",
            field=models.CharField(editable=False, max_length=300, null=True),
        ),
        migrations.AddField(
            model_name="team",
            name="look",
            field=models.CharField(editable=False, max_length=300, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
