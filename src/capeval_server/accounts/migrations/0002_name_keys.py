from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from capeval_server.names import LONGEST_KEY, keys_of


def fill(apps: Any, _: Any) -> None:
    """Gives users the keys of their names, as far as no earlier user looks the same."""
    NameKeys = apps.get_model("accounts", "NameKeys")
    seen: set[tuple[str, str]] = set()
    for user in apps.get_model("auth", "User").objects.order_by("pk").iterator():
        folded, look = keys_of(user.username)
        here = {("folded", folded), ("look", look)}
        if not here & seen and max(len(folded), len(look)) <= LONGEST_KEY:
            seen |= here
            NameKeys.objects.create(user_id=user.pk, folded=folded, look=look)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
