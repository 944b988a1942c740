from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0005_choice"), ("challenges", "0007_rules")]

    operations = [
        migrations.AddField("formeruse", "month", models.PositiveIntegerField(default=0)),
        migrations.AddField("formeruse", "window", models.PositiveIntegerField(default=0)),
    ]
