from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0005_visibility")]

    operations = [
        migrations.AddField("phase", "blind", models.BooleanField(default=False)),
        migrations.AddField("phase", "published", models.DateTimeField(null=True)),
        migrations.AddField("phase", "final_submissions", models.PositiveIntegerField(default=1)),
        # Teams of existing phases chose their submissions; those of new phases need not.
        migrations.AddField("phase", "requires_choice", models.BooleanField(default=True)),
        migrations.AlterField("phase", "requires_choice", models.BooleanField(default=False)),
    ]
