import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("organising", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="action",
            name="challenge",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="actions",
                to="challenges.challenge",
            ),
        ),
    ]
