"""METEOR's other languages: captions of inflected words, and METEOR 1.5's own answers to them.

python -m tests.conformance.meteor.languages
writes language_goldens.json; needs Java and pycocoevalcap 1.2.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.meteor.java_meteor import JavaMeteor, command_of

GOLDENS = Path(__file__).with_name("language_goldens.json")
CASES = 30

WORDS = {
    "cs": "Pes psi psa běží běžet na louce louka Žena ženy kočka kočky a v se je to",
    "da": "Hunden hunde løber løb på græsset Kvinden kvinder røde rød cykler cyklen Æbler ærligheden",
    "de": "Der die Hunde Hund läuft laufen laufende auf Straßen Straße Bedürfnisse Bedürfnis Frauen und "
    "schönes Häuser ÜBER Ereignissen",
    "es": "Un perros perro corre corriendo sobre la hierba mujeres mujer Ñandúes rápidamente rápido "
    "de canciones",
    "fr": "Un chiens chien courent court sur l'herbe Femmes femme Élégamment élégante les continuellement de",
    "it": "Il cane cani corrono correndo sull' erba donne donna velocemente veloce È città la dell'albero",
    "no": "Hunden hunder løper løp på gresset Kvinnene kvinner røde rød sykler sykkelen Ærlighet",
    "ro": "Câinele câini aleargă alergând pe iarbă femeile femeie frumoase frumos Școala școli și",
    "ru": "Собака собаки собакой бежит бегущая по траве трава Женщина женщины и на Красивые красивый в",
    "sv": "Hunden hundar springer sprang på gräset Kvinnorna kvinnor röda röd cyklar cykeln Ärligheten",
    "tr": "Köpek köpekler koşuyor koşan çimlerde çimen Kadınlar kadın Kırmızı evlerimizden ev "
    "IŞIK İki güzelliği",
}
_MARKS = (",", ".", "-", "'", "2", "|||", "a|||b")


def cases(language: str) -> Iterator[tuple[str, list[str]]]:
    """Candidates with one to three references; the same in every run."""
    rng = random.Random(language)
    words = WORDS[language].split()

    def caption() -> str:
        drawn = (rng.choice(_MARKS) if rng.random() < 0.08 else rng.choice(words) for _ in range(20))
        return " ".join(word for _, word in zip(range(rng.randint(1, 14)), drawn, strict=False))

    yield words[0], [words[0]]
    yield " ".join(words), [" ".join(reversed(words)), " ".join(words).upper()]
    for _ in range(CASES):
        yield caption(), [caption().replace("|||", "") for _ in range(rng.randint(1, 3))]


def answered(language: str) -> dict[str, Any]:
    """Return the results of METEOR 1.5."""
    found = list(cases(language))
    with JavaMeteor(command_of(language)) as meteor:
        answer = meteor.score([candidate for candidate, _ in found], [references for _, references in found])
    rows = zip(found, answer.statistics, answer.scores, strict=True)
    return {
        "command": " ".join(command_of(language)),
        "corpus": answer.corpus,
        "cases": [[candidate, references, line, score] for (candidate, references), line, score in rows],
    }


def main() -> None:
    tool = "METEOR 1.5 (meteor-1.5.jar of pycocoevalcap 1.2); made by tests/conformance/meteor/languages.py"
    document = {"tool": tool, "languages": {language: answered(language) for language in WORDS}}
    GOLDENS.write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
