from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def keep_as_they_were(apps: Any, _schema: object) -> None:
    """Campaigns that are there go on without what did not exist when they were made."""
    for campaign in apps.get_model("annotation", "Campaign").objects.all():
        campaign.settings = {**campaign.settings, "repeat_every": 0, "check_pass_share": 0.0}
        campaign.save(update_fields=["settings"])


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_report_reasons"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="item", name="item_key_once"),
        migrations.AddField(
            model_name="item",
            name="repeats",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="repeat",
                to="annotation.item",
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="is_quiz",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="item",
            name="held_reason",
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AddField(
            model_name="item",
            name="checks_looked_at",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(
                condition=models.Q(("repeats", None)), fields=("campaign", "key"), name="item_key_once"
            ),
        ),
        migrations.AddField(
            model_name="participation",
            name="avoids_warnings",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="assignment",
            name="warned_shown",
            field=models.DateTimeField(null=True),
        ),
        migrations.RunPython(keep_as_they_were, migrations.RunPython.noop),
    ]
