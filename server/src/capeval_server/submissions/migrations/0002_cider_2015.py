import json
import re
import zlib
from collections.abc import Callable
from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# In 0.1.0, `CIDEr` and `CIDEr-1` to `CIDEr-4` were the metric that is now named `CIDEr-2015`.
OLD = re.compile(r"^CIDEr(?!-D|-2015)")
NEW = re.compile(r"^CIDEr-2015")


def rename(pattern: re.Pattern[str], replacement: str) -> Callable[[Apps, BaseDatabaseSchemaEditor], None]:
    def name(text: str) -> str:
        return pattern.sub(replacement, text)

    def change_final(content: dict[str, Any]) -> dict[str, Any]:
        for row in content["rows"]:
            row["failed"] = [name(score) for score in row["failed"]]
            row["scores"] = [[name(score), *rest] for score, *rest in row["scores"]]
        content["p_values"] = [[name(score), *rest] for score, *rest in content["p_values"]]
        return content

    def change(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
        alias = editor.connection.alias

        def save(row: Any, **values: Any) -> None:
            changed = {field: value for field, value in values.items() if getattr(row, field) != value}
            for field, value in changed.items():
                setattr(row, field, value)
            if changed:
                row.save(using=alias, update_fields=list(changed))

        def rows(app: str, model: str) -> Any:
            return apps.get_model(app, model).objects.using(alias)

        for split in rows("challenges", "Split").all():
            save(split, metrics=[name(each) for each in split.metrics], sort_by=name(split.sort_by))
        for reported in rows("challenges", "Reported").all():
            changed = [
                {**row, "scores": {name(score): value for score, value in row["scores"].items()}}
                for row in reported.rows
            ]
            save(reported, rows=changed)
        for model, field in (("Result", "metric"), ("Score", "name")):
            stored = rows("submissions", model)
            for old in stored.order_by(field).values_list(field, flat=True).distinct():
                if name(old) != old:
                    stored.filter(**{field: old}).update(**{field: name(old)})
        for scores in rows("submissions", "ImageScores").only("names"):
            save(scores, names=[name(each) for each in scores.names])
        for board in rows("submissions", "FinalBoard").all():
            old = zlib.decompress(bytes(board.content)).decode()
            new = json.dumps(change_final(json.loads(old)), ensure_ascii=False)
            if new != json.dumps(json.loads(old), ensure_ascii=False):
                save(board, content=zlib.compress(new.encode()))

    return change


class Migration(migrations.Migration):
    dependencies = [("submissions", "0001_initial"), ("challenges", "0002_organizers")]

    operations = [migrations.RunPython(rename(OLD, "CIDEr-2015"), rename(NEW, "CIDEr"))]
