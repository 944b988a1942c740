import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0007_rules")]

    operations = [
        migrations.CreateModel(
            name="ImageArchive",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file", models.FileField(max_length=300, upload_to="image_archives")),
                ("sha256", models.CharField(max_length=64)),
                ("size", models.PositiveBigIntegerField()),
                ("number", models.PositiveIntegerField()),
                (
                    "split",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="image_archive",
                        to="challenges.split",
                    ),
                ),
            ],
        ),
    ]
