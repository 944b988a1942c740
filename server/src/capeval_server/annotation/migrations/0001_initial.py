import functools
import secrets
import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("annotation", "0002_releases"),
        ("annotation", "0003_people"),
        ("annotation", "0004_known_captions"),
        ("annotation", "0005_training"),
        ("annotation", "0006_report_reasons"),
        ("annotation", "0007_training_repeats_warnings"),
        ("annotation", "0008_item_group"),
        ("annotation", "0009_next_pairs"),
    ]

    initial = True

    dependencies = [
        ("challenges", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Campaign",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(unique=True)),
                ("title", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=30)),
                ("settings", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "not open yet"),
                            ("pilot", "open for a trial, of which no answer counts"),
                            ("open", "Open"),
                            ("paused", "gives out no new work for now"),
                            ("closing", "gives out no new work; what is held may end"),
                            ("closed", "Closed"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="campaigns",
                        to="challenges.challenge",
                    ),
                ),
                (
                    "organisers",
                    models.ManyToManyField(blank=True, related_name="campaigns", to=settings.AUTH_USER_MODEL),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TextVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("instructions", models.TextField()),
                ("consent", models.TextField(blank=True)),
                ("rules", models.JSONField(default=dict)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="texts",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "number"), name="text_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Image",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=200)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("small", models.CharField(max_length=100)),
                ("large", models.CharField(max_length=100)),
                ("licence", models.CharField(blank=True, max_length=200)),
                ("source", models.CharField(blank=True, max_length=500)),
                ("warning", models.CharField(blank=True, max_length=200)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="images",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "digest"), name="image_digest_once"),
                    models.UniqueConstraint(fields=("campaign", "name"), name="image_name_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=100)),
                ("group", models.CharField(blank=True, max_length=100)),
                ("category", models.CharField(blank=True, max_length=50)),
                ("payload", models.JSONField()),
                ("is_check", models.BooleanField(default=False)),
                ("expected", models.JSONField(default=dict)),
                ("rank", models.PositiveIntegerField()),
                ("mirrors_odd", models.BooleanField(default=False)),
                ("held", models.BooleanField(default=False)),
                ("free", models.PositiveSmallIntegerField(default=0)),
                ("free_trusted", models.PositiveSmallIntegerField(default=0)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="annotation.image",
                    ),
                ),
                ("explanation", models.TextField(blank=True)),
                ("is_training", models.BooleanField(default=False)),
                ("is_quiz", models.BooleanField(default=False)),
                ("held_reason", models.CharField(blank=True, max_length=500)),
                ("checks_looked_at", models.PositiveIntegerField(default=0)),
                ("up_next", models.BooleanField(default=False)),
                (
                    "repeats",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="repeat",
                        to="annotation.item",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["campaign", "free", "rank"], name="item_choice"),
                    models.Index(fields=["campaign", "free_trusted", "rank"], name="item_choice_trusted"),
                    models.Index(
                        condition=models.Q(("up_next", True)),
                        fields=["campaign", "free", "rank"],
                        name="item_up_next",
                    ),
                    models.Index(fields=["campaign", "group"], name="item_group"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("repeats", None)),
                        fields=("campaign", "key"),
                        name="item_key_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NextPairs",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("time", models.DateTimeField()),
                ("seed", models.PositiveIntegerField()),
                ("last_response", models.BigIntegerField()),
                ("left_out", models.JSONField()),
                ("systems", models.JSONField()),
                ("wins", models.JSONField()),
                ("pairs", models.JSONField()),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="next_pairs",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "number"), name="next_pairs_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="KnownCaption",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(blank=True, max_length=100)),
                ("digest", models.CharField(max_length=64)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="known",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "digest", "key"), name="known_caption_once")
                ],
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
                (
                    "pseudonym",
                    models.CharField(
                        default=functools.partial(secrets.token_hex, *(8,)), max_length=16, unique=True
                    ),
                ),
                ("digest", models.CharField(max_length=64, null=True, unique=True)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="annotation_worker",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="linked_workers",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Participation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "stage",
                    models.CharField(
                        choices=[
                            ("invited", "Invited"),
                            ("training", "Training"),
                            ("screened out", "did not pass the training"),
                            ("working", "Working"),
                            ("paused", "by a check or an organiser, until a person has looked"),
                            ("blocked", "Blocked"),
                            ("withdrew", "Withdrew"),
                        ],
                        default="invited",
                        max_length=15,
                    ),
                ),
                ("consented", models.DateTimeField(null=True)),
                ("batch", models.PositiveIntegerField(default=0)),
                ("answered", models.PositiveIntegerField(default=0)),
                ("judged", models.PositiveIntegerField(default=0)),
                ("fine", models.PositiveIntegerField(default=0)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="participations",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "consented_to",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.textversion",
                    ),
                ),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="participations",
                        to="annotation.worker",
                    ),
                ),
                ("checks_looked_at", models.PositiveIntegerField(default=0)),
                ("avoids_warnings", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("worker", "campaign"), name="participation_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Panel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("settings", models.JSONField()),
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="panel",
                        to="annotation.campaign",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Identity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("panel", models.CharField(max_length=50)),
                ("panel_id", models.CharField(max_length=200)),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="identities",
                        to="annotation.worker",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("panel", "panel_id"), name="panel_id_once")],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("study", models.CharField(max_length=200, null=True)),
                ("session", models.CharField(max_length=200, null=True)),
                ("verified", models.BooleanField()),
                ("entered", models.DateTimeField()),
                ("answered_before", models.PositiveIntegerField()),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("completed", "You are done: all that was asked for is answered. Thank you."),
                            ("nothing_left", "There is nothing left to do. Thank you."),
                            ("returned", "You have stopped. Thank you for what you did."),
                            ("no_consent", "You did not agree to take part, and nothing is stored of you."),
                            (
                                "unsuitable",
                                "This work can't be done with what you have. Thank you all the same.",
                            ),
                            (
                                "screened_out",
                                "Thank you for the training. You get no more work in this campaign.",
                            ),
                            ("failed_checks", "You get no more work in this campaign."),
                            ("withdrew", "You have withdrawn, and your answers are removed."),
                        ],
                        max_length=20,
                    ),
                ),
                ("ended", models.DateTimeField(null=True)),
                (
                    "participation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="annotation.participation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("participation", "session"), name="panel_session_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Departure",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="departures",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("campaign", "digest"), name="departure_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Release",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=50)),
                ("folder", models.CharField(max_length=200)),
                ("manifest", models.JSONField()),
                ("who", models.CharField(max_length=150)),
                ("time", models.DateTimeField()),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="annotation.campaign",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("campaign", "name"), name="release_once")],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lease", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("lease_until", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("held", "Held"),
                            ("submitted", "Submitted"),
                            ("expired", "Expired"),
                            ("returned", "Returned"),
                            ("skipped", "Skipped"),
                            ("reported", "Reported"),
                            (
                                "pulled",
                                "taken back: the item is held, the campaign closed or the worker blocked",
                            ),
                        ],
                        default="held",
                        max_length=10,
                    ),
                ),
                ("mirrored", models.BooleanField(default=False)),
                ("batch", models.PositiveIntegerField()),
                ("place", models.PositiveSmallIntegerField()),
                ("opened", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.item",
                    ),
                ),
                (
                    "participation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.participation",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["state", "lease_until"], name="assignment_leases")],
                "constraints": [
                    models.UniqueConstraint(fields=("participation", "item"), name="assignment_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.JSONField()),
                ("saved", models.DateTimeField()),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft",
                        to="annotation.assignment",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Response",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revision", models.PositiveSmallIntegerField()),
                ("answer", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("may_count", models.BooleanField(default=True)),
                ("rules", models.JSONField(default=dict)),
                ("events", models.JSONField(default=dict)),
                ("key", models.CharField(max_length=100)),
                ("received", models.DateTimeField()),
                ("redacted", models.CharField(blank=True, max_length=500)),
                (
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="annotation.item",
                    ),
                ),
                (
                    "participation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="annotation.participation",
                    ),
                ),
                (
                    "texts",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.textversion",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("assignment", "revision"), name="revision_once"),
                    models.UniqueConstraint(fields=("participation", "key"), name="response_key_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("trusted_only", models.BooleanField(default=False)),
                ("closed", models.BooleanField(default=False)),
                (
                    "filled_by",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="filled_slot",
                        to="annotation.response",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="annotation.item",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("item", "number"), name="slot_once"),
                    models.CheckConstraint(
                        condition=models.Q(("closed", False), ("filled_by", None), _connector="OR"),
                        name="closed_slot_is_empty",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(max_length=50)),
                ("time", models.DateTimeField()),
                (
                    "response",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review_requests",
                        to="annotation.response",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("response", "reason"), name="review_request_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("who", models.CharField(max_length=150)),
                (
                    "verdict",
                    models.CharField(choices=[("fine", "Fine"), ("rejected", "Rejected")], max_length=10),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "nothing"),
                            ("wrong image", "Wrong Image"),
                            ("rule broken", "Rule Broken"),
                            ("nonsense", "Nonsense"),
                            ("copied", "Copied"),
                            ("other language", "Language"),
                            ("offensive", "Offensive"),
                        ],
                        max_length=20,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=500)),
                ("time", models.DateTimeField()),
                (
                    "response",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="annotation.response",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("who", models.CharField(max_length=150)),
                ("time", models.DateTimeField()),
                ("lifted_who", models.CharField(blank=True, max_length=150)),
                ("lifted_reason", models.CharField(blank=True, max_length=500)),
                ("lifted", models.DateTimeField(null=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "lifted_person",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "participation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="annotation.participation",
                    ),
                ),
                (
                    "response",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="annotation.response",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("participation", None), ("response__isnull", False)),
                            models.Q(("participation__isnull", False), ("response", None)),
                            _connector="OR",
                        ),
                        name="excludes_a_worker_or_an_answer",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("lifted", None)),
                        fields=("participation",),
                        name="worker_excluded_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("lifted", None)),
                        fields=("response",),
                        name="response_excluded_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CheckResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("passed", models.BooleanField()),
                ("expected", models.JSONField()),
                (
                    "response",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="check_result",
                        to="annotation.response",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("not loading", "The image doesn't load"),
                            ("offensive", "It is offensive or disturbing"),
                            ("face", "It shows the face of somebody who should not be shown"),
                            ("number plate", "It shows a number plate"),
                            ("personal data", "It tells other private things of somebody"),
                            ("other language", "It is in another language"),
                            ("other", "Something else"),
                        ],
                        max_length=20,
                    ),
                ),
                ("note", models.CharField(blank=True, max_length=500)),
                ("time", models.DateTimeField()),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="report",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reports",
                        to="annotation.item",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReleasedResponse",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="responses",
                        to="annotation.release",
                    ),
                ),
                (
                    "response",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="annotation.response",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("release", "response"), name="released_once")
                ],
            },
        ),
        migrations.AddField(
            model_name="assignment",
            name="slot",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="assignments",
                to="annotation.slot",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="warned_shown",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "held")), fields=("slot",), name="slot_held_once"
            ),
        ),
    ]
