from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("challenges", "0001_initial")]

    operations = [migrations.RenameField("challenge", "organisers", "organizers")]
