"""Reviews can be undone. The table does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0003_judged_systems"),
    ]

    operations = [
        migrations.AlterField(
            model_name="review",
            name="verdict",
            field=models.CharField(
                choices=[("fine", "Fine"), ("rejected", "Rejected"), ("undone", "Undone")], max_length=10
            ),
        ),
    ]
