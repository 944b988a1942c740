from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0004_pages")]

    operations = [
        migrations.AddField(
            "challenge",
            "visibility",
            models.CharField(
                choices=[
                    ("draft", "draft: only organizers"),
                    ("unlisted", "unlisted: everybody with its secret link"),
                    ("public", "public: everybody"),
                    ("archived", "archived: everybody, without new teams and submissions"),
                ],
                default="public",
                max_length=10,
            ),
        ),
        migrations.AddField(
            "challenge",
            "link_key",
            models.CharField(blank=True, default="", max_length=32),
            preserve_default=False,
        ),
        migrations.AddField("challenge", "data_released", models.DateTimeField(null=True)),
    ]
