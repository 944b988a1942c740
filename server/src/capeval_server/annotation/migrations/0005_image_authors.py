"""The authors of images, whom some licenses require to be named."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_undone_reviews"),
    ]

    operations = [
        migrations.AddField(
            model_name="image",
            name="author",
            field=models.CharField(blank=True, default="", max_length=200),
            preserve_default=False,
        ),
    ]
