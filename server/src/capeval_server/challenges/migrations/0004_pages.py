from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0003_leaderboard_columns")]

    operations = [
        migrations.AddField("challenge", "pages", models.JSONField(blank=True, default=list)),
    ]
