"""Validation of sentences by the rules of a campaign.

It applies to drafts while the worker types, and to the sentences that are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django.utils.translation import gettext

from capeval_server.annotation.models import LONGEST_NOTE, Item, TextVersion
from capeval_server.annotation.task_types.base import is_storable
from capeval_server.annotation.text_rules import rules
from capeval_server.annotation.text_rules.invisible_characters import find_invisible, remove_invisible
from capeval_server.annotation.text_rules.rules import RuleSettings, RuleViolation, TextCheckResult
from capeval_server.core.errors import AnswerError, SentenceError

__all__ = ["SentenceCheck", "check_draft", "check_sentence", "settings_of"]


@dataclass(frozen=True, kw_only=True)
class SentenceCheck:
    """Validation result of a sentence that is being written.

    Attributes:
        words: Number of words, as scores count them.
        findings: Rules that the sentence breaks.
        cleaned: Sentence without its invisible characters; null if it has none.
    """

    words: int
    findings: tuple[RuleViolation, ...]
    cleaned: str | None


def settings_of(texts: TextVersion, item: Item | None = None) -> RuleSettings:
    """Return the rule settings of a version of the texts.

    The keywords of the item count as known words.
    """
    keywords = item.payload.get("keywords", ()) if item is not None else ()
    return RuleSettings.stored(texts.rules, keywords)


def check_draft(texts: TextVersion, item: Item, text: str) -> SentenceCheck:
    """Validate a sentence that is not sent yet.

    Raises:
        AnswerError: The sentence contains a character that cannot be stored.
    """
    if not is_storable(text):
        raise AnswerError(gettext("the sentence has a character that can't be stored: please type it again"))
    (findings,) = rules.check_captions([text], settings_of(texts, item))
    # A text that is too long is not tokenized: the number of its words is of no use.
    long = any(finding.rule == "too-long" for finding in findings)
    cleaned = remove_invisible(text) if find_invisible(text) else None
    return SentenceCheck(words=0 if long else rules.count_words(text), findings=findings, cleaned=cleaned)


def check_sentence(
    texts: TextVersion, item: Item, sentence: str, reasons: Mapping[str, str]
) -> TextCheckResult:
    """Validate a sentence, and return the verdict if it may be stored.

    Args:
        texts: The texts, with the levels of the rules.
        item: The item.
        sentence: The sentence as it would be stored.
        reasons: The worker's reasons for keeping the sentence, by rule.

    Raises:
        AnswerError: A reason can't be stored.
        SentenceError: A rule rejects the sentence, or asks for a reason.
    """
    for reason in reasons.values():
        if len(reason) > LONGEST_NOTE or not is_storable(reason):
            text = gettext("a reason must be a text of at most {most} characters")
            raise AnswerError(text.format(most=LONGEST_NOTE))
    made = rules.verdict(sentence, settings_of(texts, item), reasons)
    if made.allowed:
        return made
    findings = [asdict(finding) for finding in made.findings]
    refusing = [each for each in made.findings if each.level == "block"]
    if refusing:
        # The code that shows the message appends a full stop.
        raise SentenceError(" ".join(each.message for each in refusing).removesuffix("."), findings)
    asking = [each.message for each in made.findings if each.rule in made.unconfirmed]
    text = gettext("{questions} To keep it anyway, give a reason").format(questions=" ".join(asking))
    raise SentenceError(text, findings)
