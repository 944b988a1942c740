from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def rename_scope(old: str, new: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def change(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
        tokens = apps.get_model("accounts", "Token").objects.using(editor.connection.alias)
        tokens.filter(scope=old).update(scope=new)

    return change


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="token",
            name="scope",
            field=models.CharField(
                choices=[
                    ("read", "view own submissions"),
                    ("submit", "view and upload submissions, and choose the one on the leaderboard"),
                    ("organize", "everything above, and manage own challenges"),
                ],
                max_length=10,
            ),
        ),
        migrations.RunPython(rename_scope("organise", "organize"), rename_scope("organize", "organise")),
    ]
