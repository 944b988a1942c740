import functools
import secrets

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("notices", "0001_notices"), ("notices", "0002_deliveries")]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("challenges", "0001_initial"),
        ("submissions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Announcement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="announcements",
                        to="challenges.challenge",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Preferences",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preferences",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("submissions", models.BooleanField(default=True)),
                ("phases", models.BooleanField(default=True)),
                ("announcements", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subject", models.CharField(max_length=300)),
                ("text", models.TextField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Told",
            fields=[
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="told",
                        serialize=False,
                        to="submissions.submission",
                    ),
                ),
                ("state", models.CharField(max_length=10)),
            ],
        ),
        migrations.CreateModel(
            name="PhaseTold",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("what", models.CharField(max_length=20)),
                ("time", models.DateTimeField()),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="challenges.phase"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("phase", "what", "time"), name="phase_told_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                (
                    "secret",
                    models.CharField(default=functools.partial(secrets.token_urlsafe, *(32,)), max_length=64),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("challenge", "url"), name="webhook_once")],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event", models.CharField(max_length=50)),
                ("body", models.TextField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("due", models.DateTimeField(default=django.utils.timezone.now, null=True)),
                ("outcome", models.CharField(blank=True, max_length=300)),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="notices.webhook",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "indexes": [models.Index(fields=["due"], name="delivery_due")],
            },
        ),
    ]
