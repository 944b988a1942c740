"""Write goldens.json: METEOR 1.5's own answers to the cases. Needs Java and pycocoevalcap 1.2.

python -m tests.conformance.meteor.make_goldens
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.conformance.meteor.cases import cases
from tests.conformance.meteor.java_meteor import COMMAND, JavaMeteor

GOLDENS = Path(__file__).with_name("goldens.json")


def java_version() -> str:
    answer = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    return answer.stderr.splitlines()[0]


def main() -> None:
    found = cases()
    with JavaMeteor() as meteor:
        answer = meteor.score([case.candidate for case in found], [case.references for case in found])
    provenance = {
        "tool": "METEOR 1.5 (meteor-1.5.jar and paraphrase-en.gz of pycocoevalcap 1.2)",
        "command": " ".join(COMMAND),
        "java": java_version(),
        "made_by": "tests/conformance/meteor/make_goldens.py",
    }
    rows = [
        {"candidate": case.candidate, "references": case.references, "statistics": line, "score": score}
        for case, line, score in zip(found, answer.statistics, answer.scores, strict=True)
    ]
    document = {"provenance": provenance, "corpus": answer.corpus, "cases": rows}
    GOLDENS.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
