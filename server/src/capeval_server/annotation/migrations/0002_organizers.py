from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]

    operations = [
        migrations.RenameField("campaign", "organisers", "organizers"),
        migrations.RenameField("image", "licence", "license"),
        migrations.AlterField(
            model_name="participation",
            name="stage",
            field=models.CharField(
                choices=[
                    ("invited", "Invited"),
                    ("training", "Training"),
                    ("screened out", "Did not pass the training"),
                    ("working", "Working"),
                    ("paused", "Paused by a check or an organizer until reviewed"),
                    ("blocked", "Blocked"),
                    ("withdrew", "Withdrew"),
                ],
                default="invited",
                max_length=15,
            ),
        ),
    ]
