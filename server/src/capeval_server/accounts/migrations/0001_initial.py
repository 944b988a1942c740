import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("accounts", "0002_name_keys"), ("accounts", "0003_name_reservations")]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Token",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("read", "see own submissions"),
                            (
                                "submit",
                                "see own submissions, submit, and change what stands on the leaderboard",
                            ),
                            ("organise", "all of that, and manage the challenges that one organises"),
                        ],
                        max_length=10,
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires", models.DateTimeField()),
                ("revoked", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked", None)), fields=("user", "name"), name="token_name_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NameKeys",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="name_keys",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("folded", models.CharField(max_length=300, unique=True)),
                ("look", models.CharField(max_length=300, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="NameReservation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=150)),
                ("folded", models.CharField(max_length=300, unique=True)),
                ("look", models.CharField(max_length=300, unique=True)),
                ("address", models.EmailField(max_length=254)),
                ("expires", models.DateTimeField(db_index=True)),
                (
                    "account",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
