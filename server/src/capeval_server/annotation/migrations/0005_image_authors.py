"""Authors of images, because some licenses require their names; an index of equal images of all campaigns."""

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
        migrations.AddIndex(
            model_name="image",
            index=models.Index(fields=["digest"], name="image_of_all_campaigns"),
        ),
    ]
