from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("notices", "0001_notices"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="delivery",
            options={"verbose_name_plural": "deliveries"},
        ),
    ]
