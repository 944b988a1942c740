from typing import Any

from django.db import migrations, models


def choose_standing(apps: Any, _: Any) -> None:
    """Record that teams chose the submissions on leaderboards."""
    apps.get_model("submissions", "Submission").objects.filter(stands=True).update(choice="chosen")


class Migration(migrations.Migration):
    dependencies = [("submissions", "0004_swapped_statistics"), ("challenges", "0006_blind_phases")]

    operations = [
        migrations.AddField(
            "submission",
            "choice",
            models.CharField(
                blank=True,
                choices=[("", "not chosen"), ("chosen", "chosen"), ("declined", "taken off")],
                default="",
                max_length=10,
            ),
        ),
        migrations.RunPython(choose_standing, migrations.RunPython.noop),
    ]
