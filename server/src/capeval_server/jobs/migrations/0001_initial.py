import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("jobs", "0002_final_results")]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=50)),
                ("subject", models.CharField(max_length=100)),
                ("priority", models.PositiveSmallIntegerField(default=0)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("available_from", models.DateTimeField(null=True)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("lease", models.UUIDField(null=True)),
                ("owner", models.CharField(blank=True, max_length=200)),
                ("begun", models.DateTimeField(null=True)),
                ("progress", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["priority", "created"], name="job_queue")],
                "constraints": [models.UniqueConstraint(fields=("kind", "subject"), name="job_once")],
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200, unique=True)),
                ("started", models.DateTimeField(default=django.utils.timezone.now)),
                ("seen", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
