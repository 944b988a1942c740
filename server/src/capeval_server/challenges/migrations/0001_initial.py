import functools
import secrets

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("challenges", "0002_images_and_parts"),
        ("challenges", "0003_people"),
        ("challenges", "0004_final_results"),
        ("challenges", "0005_notices"),
        ("challenges", "0006_reported"),
        ("challenges", "0007_captions"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Challenge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(unique=True)),
                ("title", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("rules", models.TextField(blank=True)),
                ("fields", models.JSONField(default=list)),
                ("approval", models.BooleanField(default=False)),
                ("contact", models.TextField(blank=True)),
                ("data", models.TextField(blank=True)),
                ("faq", models.TextField(blank=True)),
                (
                    "organisers",
                    models.ManyToManyField(
                        blank=True, related_name="challenges", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Picture",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("file", models.FileField(max_length=300, upload_to="pictures")),
                ("media_type", models.CharField(max_length=20)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pictures",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("challenge", "name"), name="picture_once")],
            },
        ),
        migrations.CreateModel(
            name="Split",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField()),
                ("results", models.CharField(max_length=200)),
                ("image_ids", models.JSONField()),
                ("metrics", models.JSONField()),
                ("sort_by", models.CharField(max_length=50)),
                ("image_url", models.CharField(blank=True, max_length=500)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="splits",
                        to="challenges.challenge",
                    ),
                ),
                ("least_subset", models.PositiveIntegerField(default=100)),
                ("links", models.JSONField(default=list)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("challenge", "name"), name="split_once")],
            },
        ),
        migrations.CreateModel(
            name="ImageList",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.BinaryField()),
                ("sha256", models.CharField(max_length=64)),
                (
                    "split",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="image_list",
                        to="challenges.split",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SplitConstraints",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.BinaryField()),
                ("sha256", models.CharField(max_length=64)),
                (
                    "split",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="constraints",
                        to="challenges.split",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReferenceSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField()),
                ("public", models.BooleanField()),
                ("version", models.PositiveIntegerField(default=0)),
                (
                    "split",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reference_sets",
                        to="challenges.split",
                    ),
                ),
                ("part", models.JSONField(null=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("split", "name"), name="reference_set_once")],
            },
        ),
        migrations.CreateModel(
            name="Reported",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "stamp",
                    models.BigIntegerField(
                        default=functools.partial(secrets.randbelow, *(1099511627776,)), editable=False
                    ),
                ),
                ("name", models.SlugField()),
                ("title", models.CharField(max_length=200)),
                ("url", models.CharField(blank=True, max_length=500)),
                ("ranked", models.BooleanField(default=False)),
                ("rows", models.JSONField()),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "reference_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reported",
                        to="challenges.referenceset",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("reference_set", "name"), name="reported_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReferenceVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("file", models.FileField(max_length=300, upload_to="references")),
                ("sha256", models.CharField(max_length=64)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "reference_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="challenges.referenceset",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("reference_set", "number"), name="reference_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Subset",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("image_ids", models.JSONField()),
                (
                    "split",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subsets",
                        to="challenges.split",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("split", "name"), name="subset_once")],
            },
        ),
        migrations.CreateModel(
            name="Phase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField()),
                ("opens", models.DateTimeField()),
                ("closes", models.DateTimeField()),
                ("quota_per_day", models.PositiveIntegerField()),
                ("quota_total", models.PositiveIntegerField()),
                (
                    "leaderboard",
                    models.CharField(
                        choices=[
                            ("public", "everybody"),
                            ("after", "everybody, once the phase is over"),
                            ("hidden", "nobody"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="phases",
                        to="challenges.challenge",
                    ),
                ),
                ("final", models.DateTimeField(null=True)),
                ("captions", models.JSONField(blank=True, default=list)),
                (
                    "captions_by",
                    models.CharField(
                        choices=[
                            ("agreed", "those of teams that agreed"),
                            ("standing", "those of all teams on the leaderboard"),
                        ],
                        default="agreed",
                        max_length=10,
                    ),
                ),
                ("splits", models.ManyToManyField(related_name="phases", to="challenges.split")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("challenge", "name"), name="phase_once")],
            },
        ),
    ]
