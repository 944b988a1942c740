from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0002_cider_2015"),
    ]

    operations = [
        migrations.AddField(
            model_name="score",
            name="images",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="submissionfile",
            name="id_rule",
            field=models.CharField(blank=True, max_length=100),
        ),
    ]
