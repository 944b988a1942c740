import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("challenges", "0007_rules"),
        ("notices", "0002_campaign_alerts"),
    ]

    operations = [
        migrations.AddField(
            model_name="webhook",
            name="campaign",
            field=models.CharField(blank=True, default="", max_length=50),
        ),
        migrations.AlterField(
            model_name="webhook",
            name="challenge",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="webhooks",
                to="challenges.challenge",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.UniqueConstraint(
                condition=models.Q(("campaign", ""), _negated=True),
                fields=("campaign", "url"),
                name="campaign_webhook_once",
            ),
        ),
    ]
