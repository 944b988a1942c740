import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0003_id_rules_and_image_counts"),
    ]

    operations = [
        migrations.CreateModel(
            name="SwappedStatistics",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subset", models.CharField(blank=True, max_length=100)),
                ("images", models.PositiveIntegerField()),
                ("values", models.BinaryField()),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="swapped_statistics",
                        to="submissions.result",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("result", "subset"), name="swapped_statistics_once")
                ],
            },
        ),
    ]
