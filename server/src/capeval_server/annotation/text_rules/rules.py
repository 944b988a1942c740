"""Rules for written captions, each with a level, a message and a justification.

A *hint* is shown and may be ignored; *confirm* asks for "keep it anyway" with a reason, and sends the text to
review; *block* requires a change. The server's verdict is decisive; the page requests it while the worker
types. No rule proposes different words, and none rejects an answer after it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

from capeval.errors import OptionError
from capeval.tokenizers import tokenize
from capeval.toolkit import make_missing_package_error
from capeval_server.annotation.task_types.write import LONGEST_CAPTION
from capeval_server.annotation.text_rules.invisible_characters import describe_invisible
from capeval_server.core.translatable_texts import gettext_noop

__all__ = [
    "LEVELS",
    "RULES",
    "VERSION",
    "RuleSettings",
    "RuleViolation",
    "TextCheckResult",
    "TextRule",
    "check_captions",
    "complete_rules",
    "count_words",
    "prepare",
    "stored_verdict",
    "verdict",
]

VERSION = 2
"""Incremented when the findings for some text change. Answers store the version that judged them."""

LEVELS = ("off", "hint", "confirm", "block")

_LISTS = ("known_words", "blocked_words")
_MOST_LISTED, _LONGEST_LISTED = 10_000, 100
_LEAST_WORDS = 8
_FEWEST_WORDS = 3
# Numbers in the messages of rules.
_LIMITS = {"longest": LONGEST_CAPTION, "least": _LEAST_WORDS, "fewest": _FEWEST_WORDS}

_PICTURE_OF = re.compile(
    r"\s*((this|that|here) is )?((an?|the|this)\s+)?"
    r"(photo|photograph|picture|image|pic|snapshot)s?\s+(of|containing|showing|shows|with)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|\bwww\.\S|\S@\S+\.\w", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?]\s+\S*[A-Za-z]")
_ERROR_REPORT = re.compile(
    r"\bno (image|picture|photo)\b|\b(image|picture|photo) (is |was |did |does )?(not|n't|missing)\b"
    r"|\b(not|won't|doesn't|didn't|isn't) (load|show|display)(ing)?\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"[a-z,]\s+([A-Z][a-z]\w*(?:['\u2019-]\w+)*)")
_QUOTATION = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_OTHER_TIMES = re.compile(r"\b(will|going to|about to|was|were)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class RuleSettings:
    """Settings of the rules by an organizer.

    Attributes:
        levels: The level of each rule that differs from its default.
        known_words: Words that count as spelled correctly: keywords, class names, the campaign's list.
        blocklist: Words and phrases that need a reason, in lower case.

    Raises:
        OptionError: A rule or a level is unknown.
    """

    levels: Mapping[str, str] = field(default_factory=dict)
    known_words: frozenset[str] = frozenset()
    blocklist: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for rule, level in self.levels.items():
            if rule not in RULES:
                raise OptionError(f"unknown rule {rule!r} (known: {', '.join(RULES)})")
            if not isinstance(level, str) or level not in LEVELS:
                raise OptionError(f"the level of {rule!r} must be one of {', '.join(LEVELS)} (got {level!r})")

    @classmethod
    def stored(cls, raw: Mapping[str, Any], keywords: Sequence[str] = ()) -> RuleSettings:
        """Return the settings in a campaign's file or table: levels and word lists.

        Args:
            raw: Levels by the names of rules; `known_words` and `blocked_words`, lists of texts.
            keywords: Additional known words: the keywords of an item.

        Raises:
            OptionError: A rule or a level is unknown, or a list is not a list of texts.
        """
        levels = {name: level for name, level in raw.items() if name not in _LISTS}
        known = [*_read_texts("known_words", raw), *keywords]
        words = tokenize(known) if known else []
        listed = _read_texts("blocked_words", raw)
        phrases = tokenize(listed) if listed else []
        return cls(
            levels=levels,
            known_words=frozenset(word for each in words for word in each),
            blocklist=tuple(" ".join(each) for each in phrases if each),
        )

    def level(self, rule: TextRule) -> str:
        """Return the level of a rule in these settings."""
        return self.levels.get(rule.name, rule.level)


def _read_texts(name: str, raw: Mapping[str, Any]) -> list[str]:
    """Return a list of texts from the settings; empty if it is missing."""
    found: Any = raw.get(name, [])
    fine = isinstance(found, list) and len(found) <= _MOST_LISTED
    if not fine or not all(isinstance(each, str) and 0 < len(each) <= _LONGEST_LISTED for each in found):
        raise OptionError(
            f"{name!r} must be a list of at most {_MOST_LISTED:,} texts of 1 to {_LONGEST_LISTED} characters"
        )
    return list(found)


@dataclass(frozen=True, kw_only=True)
class TokenizedText:
    """A text with its tokens, as input of the rules.

    Attributes:
        text: The text as typed.
        words: Its tokens without punctuation, in lower case, as in the computation of scores.
        settings: The organizer's settings.
    """

    text: str
    words: Sequence[str]
    settings: RuleSettings


@dataclass(frozen=True, kw_only=True)
class TextRule:
    """A rule for texts.

    Attributes:
        name: Name of the rule.
        level: Default level.
        message: Message for the writer, with `{found}` for the violation, and the names of `_LIMITS`.
        why: Justification, for the page about the rules.
        finds: Returns the violation in a text; empty if there is none.
        english: Whether the rule is only right for English.
    """

    name: str
    level: str
    message: str
    why: str
    finds: Callable[[TokenizedText], str]
    english: bool = False


@dataclass(frozen=True, kw_only=True)
class RuleViolation:
    """Violation of a rule by a text.

    Attributes:
        rule: Name of the rule.
        level: Level of the rule in the campaign.
        message: Message for the writer.
    """

    rule: str
    level: str
    message: str


def _match(pattern: re.Pattern[str], group: int = 0) -> Callable[[TokenizedText], str]:
    def finds(written: TokenizedText) -> str:
        match = pattern.search(written.text)
        return match.group(group).strip() if match else ""

    return finds


def _find_empty(written: TokenizedText) -> str:
    return "" if written.text.strip() else "nothing"


def _find_too_long(written: TokenizedText) -> str:
    return f"{len(written.text):,}" if len(written.text) > LONGEST_CAPTION else ""


def _find_too_few(written: TokenizedText) -> str:
    return str(len(written.words)) if len(written.words) < _FEWEST_WORDS else ""


def _find_short(written: TokenizedText) -> str:
    return str(len(written.words)) if _FEWEST_WORDS <= len(written.words) < _LEAST_WORDS else ""


def _find_there_is(written: TokenizedText) -> str:
    begins = tuple(written.words[:2])
    return " ".join(begins) if begins in (("there", "is"), ("there", "are"), ("there", "'s")) else ""


def _find_picture_of(written: TokenizedText) -> str:
    match = _PICTURE_OF.match(written.text)
    return match.group().strip() if match else ""


def _find_blocked_words(written: TokenizedText) -> str:
    text = f" {' '.join(written.words)} "
    return next((phrase for phrase in written.settings.blocklist if f" {phrase} " in text), "")


def _find_language(written: TokenizedText) -> str:
    return "" if not written.words or _load_classifier()(written.text)[0] == "en" else "another language"


def _find_unknown_words(written: TokenizedText) -> str:
    known = _load_dictionary()
    unknown = [
        word
        for word in written.words
        if word.isalpha() and word not in known and word not in written.settings.known_words
    ]
    return ", ".join(dict.fromkeys(unknown))


@cache
def _load_classifier() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid import classify
    except ImportError as error:
        raise make_missing_package_error("the rule for other languages needs", error) from None
    return classify  # type: ignore[no-any-return]


@cache
def _load_dictionary() -> Any:
    try:
        from spellchecker import SpellChecker
    except ImportError as error:
        raise make_missing_package_error("the rule for unknown words needs", error) from None
    return SpellChecker()


_RULES = (
    TextRule(
        name=gettext_noop("empty"),
        level="block",
        message=gettext_noop("Please write a sentence."),
        why=gettext_noop(
            "An empty answer describes nothing. An image that can't be described can be reported or skipped."
        ),
        finds=_find_empty,
    ),
    TextRule(
        name=gettext_noop("too-long"),
        level="block",
        message=gettext_noop("The sentence must have at most {longest} characters (it has {found})."),
        why=gettext_noop("The longest of 247,654 captions of COCO and nocaps have 250 characters."),
        finds=_find_too_long,
    ),
    TextRule(
        name=gettext_noop("invisible"),
        level="block",
        message=gettext_noop("Please remove the invisible characters ({found})."),
        why=gettext_noop(
            "Such characters come with copied text. They change the order in which a sentence is shown, and"
            " split words, so reviewers and scores see a different sentence. Joiners that a script or an"
            " emoji needs are fine."
        ),
        finds=lambda written: describe_invisible(written.text),
    ),
    TextRule(
        name=gettext_noop("too-few-words"),
        level="block",
        message=gettext_noop("The sentence must have at least {fewest} words (it has {found})."),
        why=gettext_noop("Two words are a label, not a description."),
        finds=_find_too_few,
    ),
    TextRule(
        name=gettext_noop("there-is"),
        level="block",
        message=gettext_noop(
            "Please do not start with 'There is' or 'There are': name what is in the image."
        ),
        why=gettext_noop(
            "COCO and nocaps ask for this. 2 % of the captions of COCO begin like this, and none of nocaps,"
            " because its page rejected them. Such beginnings add the same words to captions of different"
            " images."
        ),
        finds=_find_there_is,
        english=True,
    ),
    TextRule(
        name=gettext_noop("picture-of"),
        level="block",
        message=gettext_noop("Please do not write '{found}': describe what is in the image."),
        why=gettext_noop("nocaps asks for this. The words would apply to every image."),
        finds=_find_picture_of,
        english=True,
    ),
    TextRule(
        name=gettext_noop("address"),
        level="block",
        message=gettext_noop("Please don't include web or email addresses ('{found}')."),
        why=gettext_noop("Captions are published. Addresses of sites and people don't describe an image."),
        finds=_match(_ADDRESS),
    ),
    TextRule(
        name=gettext_noop("short"),
        level="confirm",
        message=gettext_noop("The sentence should have at least {least} words (it has {found})."),
        why=gettext_noop(
            "COCO and nocaps ask for eight words. About one caption in a hundred is shorter, and some of"
            " these are fine, so a reason is enough."
        ),
        finds=_find_short,
    ),
    TextRule(
        name=gettext_noop("several-sentences"),
        level="confirm",
        message=gettext_noop("Please write one sentence."),
        why=gettext_noop("The task is one sentence. One caption in a thousand has several."),
        finds=_match(_SENTENCE_END),
    ),
    TextRule(
        name=gettext_noop("error-report"),
        level="confirm",
        message=gettext_noop(
            "Does the image not load? Then please report it instead of writing ('{found}')."
        ),
        why=gettext_noop("nocaps asks not to use the field to report errors. Reports put the image on hold."),
        finds=_match(_ERROR_REPORT),
        english=True,
    ),
    TextRule(
        name=gettext_noop("language"),
        level="confirm",
        message=gettext_noop("Is this sentence in English? If so, keep it."),
        why=gettext_noop(
            "Captions are to be in English. 4 to 6 of 10,000 are mistaken for another language."
        ),
        finds=_find_language,
        english=True,
    ),
    TextRule(
        name=gettext_noop("blocklist"),
        level="confirm",
        message=gettext_noop("Please leave out '{found}', or give a reason for it."),
        why=gettext_noop("The organizers listed words that captions should not have."),
        finds=_find_blocked_words,
    ),
    TextRule(
        name=gettext_noop("name"),
        level="hint",
        message=gettext_noop("Is '{found}' the name of a person? Please do not give people names."),
        why=gettext_noop(
            "COCO and nocaps ask for no names of people. 2 to 3 % of captions contain a capital letter"
            " inside. Many are correct, such as 'British' or 'Wii'."
        ),
        finds=_match(_NAME, group=1),
        english=True,
    ),
    TextRule(
        name=gettext_noop("quotation"),
        level="hint",
        message=gettext_noop("Please do not describe what a person might say."),
        why=gettext_noop("COCO and nocaps ask for this. Quotation marks can also enclose text in the image."),
        finds=_match(_QUOTATION),
    ),
    TextRule(
        name=gettext_noop("other-times"),
        level="hint",
        message=gettext_noop(
            "Describe only what you can see, not what happened before or may happen next ('{found}')."
        ),
        why=gettext_noop(
            "COCO and nocaps ask for this. The past and the future are guesses, which differ between people."
        ),
        finds=_match(_OTHER_TIMES),
        english=True,
    ),
    TextRule(
        name=gettext_noop("unknown-words"),
        level="hint",
        message=gettext_noop("Are these words spelled right: {found}?"),
        why=gettext_noop(
            "nocaps asks to avoid spelling errors. 3 to 5 % of captions contain a word that is not in the"
            " dictionary; most of these are misspelled."
        ),
        finds=_find_unknown_words,
        english=True,
    ),
)

RULES: Mapping[str, TextRule] = MappingProxyType({rule.name: rule for rule in _RULES})
"""The rules by name, in the order in which they are shown."""

_EXCLUSIVE = ("empty", "too-few-words")


def complete_rules(raw: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return the rules of a campaign, without the rules for English in other languages.

    Args:
        raw: Levels by the names of rules, and word lists. Levels that are given stay.
        language: Code of the campaign's language.
    """
    if language.lower().split("-")[0] == "en":
        return dict(raw)
    return {**{rule.name: "off" for rule in RULES.values() if rule.english}, **raw}


def prepare() -> None:
    """Load the language classifier and the dictionary, which takes most of a second.

    Later verdicts in the same process are fast.
    """
    _load_classifier()("a dog")
    _load_dictionary()


def count_words(text: str) -> int:
    """Return the number of words as scores count them: tokens without punctuation."""
    return len(tokenize([text])[0])


def check_captions(
    texts: Sequence[str], settings: RuleSettings | None = None
) -> list[tuple[RuleViolation, ...]]:
    """Return the violations of each text, in the order of the rules.

    A text that is empty, too long or has too few words has no other violations.

    Args:
        texts: The texts as typed.
        settings: The organizer's settings; None means the defaults.

    Raises:
        CaptionError: A text contains a lone surrogate.
        DependencyError: A library for languages or spelling is not installed.
    """
    settings = settings or RuleSettings()
    # Tokenizing a text that is too long would take time for no use.
    words = tokenize([text if len(text) <= LONGEST_CAPTION else "" for text in texts])
    return [
        _find_violations(TokenizedText(text=text, words=tokens, settings=settings))
        for text, tokens in zip(texts, words, strict=True)
    ]


def _find_violations(written: TokenizedText) -> tuple[RuleViolation, ...]:
    found: list[RuleViolation] = []
    for rule in RULES.values():
        level = written.settings.level(rule)
        what = "" if level == "off" else rule.finds(written)
        if what:
            message = gettext(rule.message).format(found=what, **_LIMITS)
            found.append(RuleViolation(rule=rule.name, level=level, message=message))
        if (what and rule.name in _EXCLUSIVE) or (
            rule.name == "too-long" and len(written.text) > LONGEST_CAPTION
        ):
            break
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class TextCheckResult:
    """Verdict on a text: whether it may be sent.

    Attributes:
        findings: Rules that the text breaks.
        blocked: Whether the text must be changed.
        unconfirmed: Rules that ask for a reason, but were given none.
        reasons: The writer's reason for each rule that asks for one.
    """

    findings: tuple[RuleViolation, ...]
    blocked: bool
    unconfirmed: tuple[str, ...]
    reasons: Mapping[str, str]

    @property
    def allowed(self) -> bool:
        """Whether the text may be sent."""
        return not self.blocked and not self.unconfirmed

    @property
    def for_review(self) -> bool:
        """Whether a person must review the text."""
        return bool(self.reasons)


def verdict(
    text: str, settings: RuleSettings | None = None, reasons: Mapping[str, str] | None = None
) -> TextCheckResult:
    """Return the verdict on a text, given the writer's reasons for keeping it.

    Args:
        text: The text as typed.
        settings: The organizer's settings; None means the defaults.
        reasons: The writer's reasons for keeping the text, by rule; reasons for other rules are ignored.

    Raises:
        CaptionError: The text contains a lone surrogate.
        DependencyError: A library for languages or spelling is not installed.
    """
    (findings,) = check_captions([text], settings)
    asked = [finding.rule for finding in findings if finding.level == "confirm"]
    given = {rule: (reasons or {}).get(rule, "").strip() for rule in asked}
    return TextCheckResult(
        findings=findings,
        blocked=any(finding.level == "block" for finding in findings),
        unconfirmed=tuple(rule for rule in asked if not given[rule]),
        reasons={rule: reason for rule, reason in given.items() if reason},
    )


def stored_verdict(made: TextCheckResult) -> dict[str, Any]:
    """Return a verdict in its stored form: version of the rules, findings, reasons."""
    return {
        "version": VERSION,
        "findings": [
            {"rule": each.rule, "level": each.level}
            | ({"reason": made.reasons[each.rule]} if each.rule in made.reasons else {})
            for each in made.findings
        ],
    }
