import functools
import secrets
import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("submissions", "0002_jobs"),
        ("submissions", "0003_refused_uploads"),
        ("submissions", "0004_failures_by_content"),
        ("submissions", "0005_former_members"),
        ("submissions", "0006_people"),
        ("submissions", "0007_final_results"),
        ("submissions", "0008_stamps"),
    ]

    initial = True

    dependencies = [
        ("challenges", "0001_initial"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Submission",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("declared", models.JSONField(default=dict)),
                ("algorithm", models.CharField(max_length=64)),
                ("sha256", models.CharField(max_length=64)),
                ("idempotency_key", models.CharField(max_length=100, null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("scored", "Scored"),
                            ("failed", "Failed"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("finished", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("log", models.TextField(blank=True)),
                ("counts_for_quota", models.BooleanField(default=True)),
                ("stands", models.BooleanField(default=False)),
                (
                    "mark",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "nothing"),
                            ("flagged", "shown on the leaderboard with the reason"),
                            ("hidden", "not shown on the leaderboard"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                ("mark_reason", models.CharField(blank=True, max_length=500)),
                (
                    "baseline_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="baselines",
                        to="challenges.referenceset",
                    ),
                ),
                (
                    "phase",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="challenges.phase",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="teams.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="submissions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "stamp",
                    models.BigIntegerField(
                        default=functools.partial(secrets.randbelow, *(1099511627776,)), editable=False
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["state", "created"], name="submission_queue"),
                    models.Index(
                        condition=models.Q(("stands", True)),
                        fields=["phase", "team", "stamp"],
                        name="submissions_standing",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "idempotency_key"), name="idempotency_key_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("stands", True)), fields=("team", "phase"), name="one_stands"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("baseline_of__isnull", False), ("phase", None), ("team", None)),
                            models.Q(
                                ("baseline_of", None), ("phase__isnull", False), ("team__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="of_a_team_or_a_baseline",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SubmissionFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file", models.FileField(max_length=300, upload_to="submissions")),
                (
                    "split",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="challenges.split"),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("submission", "split"), name="file_once")],
            },
        ),
        migrations.CreateModel(
            name="Result",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("metric", models.CharField(max_length=50)),
                ("signature", models.CharField(blank=True, max_length=500)),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("log", models.TextField(blank=True)),
                (
                    "reference_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to="challenges.referenceversion"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="results",
                        to="submissions.submission",
                    ),
                ),
                ("by_content", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("submission", "reference_version", "metric"), name="result_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("subset", models.CharField(blank=True, max_length=100)),
                ("name", models.CharField(max_length=50)),
                ("value", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("samples", models.BinaryField(default=b"")),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="submissions.result",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("result", "subset", "name"), name="score_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ImageScores",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("names", models.JSONField()),
                ("values", models.BinaryField()),
                (
                    "result",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="image_scores",
                        to="submissions.result",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FinalBoard",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="final_boards",
                        to="challenges.phase",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="challenges.referenceversion",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("phase", "version"), name="final_board_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RefusedUpload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("time", models.DateTimeField()),
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
            name="FormerMember",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="challenges.challenge",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="former_members",
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
            ],
        ),
        migrations.CreateModel(
            name="FormerAddress",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(db_index=True, max_length=64)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="addresses",
                        to="submissions.formermember",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FormerUse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("used", models.PositiveIntegerField()),
                ("day", models.DateField()),
                ("today", models.PositiveIntegerField()),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="uses",
                        to="submissions.formermember",
                    ),
                ),
                (
                    "phase",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="challenges.phase"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="teams.team",
                    ),
                ),
            ],
        ),
    ]
