from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0006_blind_phases")]

    operations = [
        migrations.AddField("challenge", "invitation_only", models.BooleanField(default=False)),
        migrations.AddField("challenge", "email_domains", models.JSONField(blank=True, default=list)),
        migrations.AddField("challenge", "team_size", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField("phase", "quota_per_month", models.PositiveIntegerField(null=True)),
        migrations.AddField("phase", "quota_per_window", models.PositiveIntegerField(null=True)),
        migrations.AddField("phase", "quota_window_days", models.PositiveIntegerField(null=True)),
    ]
