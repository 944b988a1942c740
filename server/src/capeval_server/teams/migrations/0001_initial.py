import functools
import secrets

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("teams", "0002_name_keys"),
        ("teams", "0003_name_keys_once"),
        ("teams", "0004_people"),
        ("teams", "0005_owners"),
        ("teams", "0006_stamps"),
        ("teams", "0007_captions"),
    ]

    initial = True

    dependencies = [
        ("challenges", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("code", models.CharField(max_length=32, null=True, unique=True)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="teams",
                        to="challenges.challenge",
                    ),
                ),
                ("folded", models.CharField(editable=False, max_length=300, null=True)),
                ("look", models.CharField(editable=False, max_length=300, null=True)),
                ("code_expires", models.DateTimeField(null=True)),
                (
                    "stamp",
                    models.BigIntegerField(
                        default=functools.partial(secrets.randbelow, *(1099511627776,)), editable=False
                    ),
                ),
                ("shows_captions", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("challenge", "name"), name="team_name_once"),
                    models.UniqueConstraint(fields=("challenge", "folded"), name="team_folded_once"),
                    models.UniqueConstraint(fields=("challenge", "look"), name="team_look_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("joined", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="challenges.challenge",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="teams.team",
                    ),
                ),
                ("approved", models.BooleanField(default=True)),
                ("owner", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("challenge", "user"), name="one_team"),
                    models.UniqueConstraint(
                        condition=models.Q(("owner", True)), fields=("team",), name="one_owner"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Raise",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("per_day", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="challenges.phase"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="raises", to="teams.team"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("team", "phase"), name="raise_once")],
            },
        ),
        migrations.CreateModel(
            name="Block",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("who", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=500)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="challenges.challenge",
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
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("challenge", "user"), name="block_once")],
            },
        ),
        migrations.CreateModel(
            name="BlockedAddress",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(db_index=True, max_length=64)),
                (
                    "block",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="addresses",
                        to="teams.block",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("block", "digest"), name="blocked_address_once")
                ],
            },
        ),
    ]
