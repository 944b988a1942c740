import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("organising", "0002_actions_of_no_challenge"), ("organising", "0003_exports")]

    initial = True

    dependencies = [
        ("challenges", "0001_initial"),
        ("submissions", "0001_initial"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Action",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("who", models.CharField(max_length=150)),
                ("time", models.DateTimeField(default=django.utils.timezone.now)),
                ("what", models.TextField()),
                (
                    "submission",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="actions",
                        to="submissions.submission",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="actions",
                        to="teams.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "challenge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="actions",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["challenge", "-time"], name="action_latest")],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "being prepared"),
                            ("ready", "ready"),
                            ("failed", "not made, since the system failed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished", models.DateTimeField(null=True)),
                ("size", models.PositiveBigIntegerField(default=0)),
                (
                    "challenge",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="export",
                        to="challenges.challenge",
                    ),
                ),
            ],
        ),
    ]
