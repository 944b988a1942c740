from django.db import migrations, models


# Apart from the migration that fills them: PostgreSQL adds no constraint to a table with changes that are pending.
class Migration(migrations.Migration):
    dependencies = [("teams", "0002_name_keys")]

    operations = [
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(fields=("challenge", "folded"), name="team_folded_once"),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(fields=("challenge", "look"), name="team_look_once"),
        ),
    ]
