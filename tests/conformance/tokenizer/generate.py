"""Lines of text that reach every corner of the tokenizer: seeded, plain standard library."""

# ruff: noqa: SIM905 -- long lists of words are easier to read as text
from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator

WORDS = """a an the man woman dog cat horse zebra street bench table pizza kite surfboard snow
beach with on under near riding holding sitting red grey colour two three large small and or of
to in at programme january Monday Paris I A The He She It In This haemoglobin favourite café
naïve übermäßig Ελλάδα ΟΔΟΣ Москва 東京 日本語 한국어 ελληνικός שלום مرحبا नमस्ते ไทย İstanbul
ıssız ſtill Kelvin ǅungla ﬁsh Ǆ ẞ can not cannot Cannot CANNOT gonna gotta lemme gimme wanna Wanna
doesn wouldn isn ain won programming c C f F x PRO anti pro non Korean""".split()

CONTRACTED = """don't Don't DON'T can't won't isn't it's It's IT'S I'm I'M they'll we've you're
he'd y'all Y'all 'tis 'Tis 'twas 'TWAS 'em 'n' rock'n'roll 'cause o'clock O'Neil O'Brien d'Arc
l'avion c'mon C'mon ma'am ol' somethin' Dunkin' dunkin' e'er ev'ry li'l nat'l nor'easter s'mores
cont'd cont'd. Cap'n c'est 'til 'till '98 '20s '90s 1990's dogs' boss's n't nn't 's 'S 'll 're
've 'd 'm y'know D'Angelo Q'ran M'am I'd've shouldn't've ain't ya'll O'o o'o don'ts""".split()

ABBREVIATIONS = """Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thurs
Fri Ala Ariz Az az Ark ark Calif Colo Conn Ct Dak Del del Fla Ga Ill ill Ind Kan Kans Ky La la
Mass mass Md Mich Minn Miss miss Mo Mont Neb Nev Okla Ore ore Pa pa Penn Tenn Tex tex Va Vt Wash
wash Wis Wisc Wyo Inc Co Cos Corp Pty Ptys Pte Ptes Ppty PTY Ltd Plc Rt Bancorp Bhd Assn Univ
Intl Sys tel est ext sq Jr Sr Bros Ed.D Ph.D Blvd Rd Esq etc al seq Bldg Mr Mrs Ms Dr Drs Prof
Profs Sen Sens Rep Reps Atty Attys Lt Col Gen Messrs Gov Govs Adm Rev Maj Sgt Cpl Pvt Capt St
Ste Ave Pres Lieut Hon Brig Cmdr Comdr Pfc Spc Supt Supts Det Mt Ft Adj Adv Asst Assoc Ens Insp
Mlle Mme Msgr Sfc vs Alex Wm Jos Cie a.k.a cf TREAS Ph Invt Elec Natl Mfg Mtg MFG Dept ca fig
figs prop no nos art bldg pp op U.S U.S.A a.m p.m P.O e.g i.e B Z x Canada-U.S non-U.S EU-U.S
U.S.-U.K U.S.-U.S.S.R Sun Sat oz Div Mkt""".split()

OPENERS = """About According A An As At But He Her If In It Last Many Mr. Ms. Now One The Their
They This We When Yet You Other the we xThe There""".split()

QUOTE_SIGNS = [*list("'\"`´‘’‚‛“”„‟‹›«»\x91\x92\x93\x94"), "''", "``", "&quot;", "&apos;", "&QUOT;"]

SIGNS = (
    list(string.punctuation)
    + list("…–—―‐‑‒−¡¿·•°²³¹½¼¾⅓⅔⅛¢£¤¥€₤₠§©®™×÷¬±µ¶ªº،؛؟۔。、・〜〒→∞≠♥☺★✓⁺⁻₊₋⁷₃⁄Ⅷⓐ\u24b6\u2163\u066b\u066c")
    + ["--", "---", "----", "-----", "...", "....", "......", ". . .", ". . . .", "?!", "!!", "??"]
    + ["&amp;", "&AMP;", "&lt;", "&gt;", "&nbsp;", "&mdash;", "&ndash;", "&MD;", "&#39;", "&HT;"]
    + ["&odq;", "&eacute;", "&Uuml;", "&zz;", "<<", ">>", "**", "\\*", "\\/", "\\*\\*", "@@", "##"]
)

SPACES = [" "] * 12 + ["  ", "\t", "\u00a0", "\u2009", "\u3000", "\u200b", "\ufeff", "\x85", "\x1c"]

SMILEYS = """:) :-) :( ;) =) :D :P :p :o :-o :'( :O :\\ :{ :@ :| :[ :] <:) >:( :*) ^_^ -_- >_<
~_~ '_' =_= x_x (^_^) (-_-) (>.<) (^^) (=') (^-^) (^-') (~-`) ^.[^x=ab<>] x.[^X=<>] xx. 8) :-3
(x_x) (-.-)""".split()

TAGS = [
    "<b>", "</b>", "<br/>", "<br />", "<a href=\"x y\">", "<a href='it is'>", "<!-- no -->",
    "<!DOCTYPE html>", "<?xml version='1.0'?>", "<img src=\"a\" alt='b c' />", "< b>", "<b", "<1>",
    "<a b>", "<a  b = \"c\"  >", "<x:y.z-w_v>", "</a >", "<a/b>", "<p>text</p>", "<a \"b\">",
    "<!x y>", "<!>", "<a b='\">", "<>", "<a b=c>", "-LRB-", "-rrb-", "-Lsb-", "-LCB-", "(", ")",
]  # fmt: skip

ADDRESSES = """http://example.org/a?b=c&d=1 https://a.b/(x) HTTP://X.Y/*.txt http://a http://ab
www.example.com www.a.b.co.uk/x,y example.com Example.COM foo.net/bar.html x.edu. a-b.org A.com
9.com me@example.org me.too+x@sub.example.co.uk <me@x.org> &lt;a@b&gt; a@b a@ @user @User_1 @1
#tag #Tag1 #été #1 #_ ftp://x.y/z file.txt FILE.ZIP a.b.html index.php? paper.pdf, x.py! lib.c
lib.c. program.exe run.cgi 3.mp3 notes.docx. U+00e9.gif a/b and/or either/or/both I/O w/o n/a
24/7 c++ C++ C# f# F# J++ AT&T AT&amp;T R&D S&P-500 S&Ls S&amp;Ls Q+A B&B&B a&b Yahoo!News
what?Ever end.Start U.S.-based U.S.-led mid-1990s x-ray well-known co-op re-elect -ish on-
twenty_one state-of-the-art 3-year-old A.B-C d'Arc-like l'un-d'eux pro-life anti-war New$ US$
C$5 HK$ $5 $5.00 £3 €9 ¥100 #5""".split()

NUMBERS = """0 1 12 123 1234 12345 1,000 1,000,000 1.5 .5 -1 +1 -1.5 3.14.15 10:30 10:30:15 1:2
1/2 25 1/2 25-1/2 3\\/4 5⁄8 12345/6 1/23456 12/25/2014 12-25-14 1/2/3 1-2-34567 2/29/00 555-1234
555 1234 (555) 123-4567 (555)123-4567 +1 555 123 4567 ++44 20 7946 0958 555.123.4567
+1.555.123.4567 555-123-4567 12 345 6789 1st 2nd 3rd 11th 20th 5% 50¢ 1½ 2¼ x² H₂O 10⁻³ 5a a5
1990s 90's 5-6 6pm 6:00pm ٣٤ ٣٫١٤ १२ ߁߂ １２ 1·5 1'000 7/8ths 5x5 1e10 0x1F 4:3 16:9 1,2 1, 1. 1-
no. 5 fig. 3 pp. 12 ca. 1900 Nos. 7 op. 9 art.5 prop. x""".split()

SPECIAL = (
    "\u00ad\u00a0\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u0301"
    "\u0300\x00\x01\x7f\x80\x85\x9f\ufffd\ufffe\uffff"
)


def _cased(rng: random.Random, text: str) -> str:
    changes: list[Callable[[str], str]] = [str.upper, str.lower, str.title, str.swapcase, str, str, str]
    return rng.choice(changes)(text)


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _contraction(rng: random.Random) -> str:
    text = _cased(rng, rng.choice(CONTRACTED))
    sign = rng.choice(["'", "'", "'", "’", "‘", "`", "\x92", "\x91", "‛", "&apos;", "&APOS;", "ʼ"])
    return text.replace("'", sign)


def _abbreviation(rng: random.Random) -> str:
    text = _cased(rng, rng.choice(ABBREVIATIONS)) + rng.choice([".", ".", ".", "", "..", ".,", ".'s"])
    after = [" " + rng.choice(OPENERS) + " ", " 5", "5", " ltd.", " Limited", " lim", " x", "  X"]
    after += ["\u00a0The ", " <b>", " <b> ", " É", " ⓐ", " \u24b6", " \u2163", "-x", ")", " .", " A."]
    return text + rng.choice(after)


def _initials(rng: random.Random) -> str:
    letters = [rng.choice(string.ascii_letters) for _ in range(rng.randint(1, 4))]
    return ".".join(letters) + rng.choice([".", "", ".."])


def _quoted(rng: random.Random) -> str:
    opening, closing = rng.choice(QUOTE_SIGNS), rng.choice(QUOTE_SIGNS)
    return opening + rng.choice(["", " "]) + _piece(rng) + rng.choice(["", " "]) + closing


def _number(rng: random.Random) -> str:
    digits = "0123456789" * 4 + "٣۴१߂５"
    if rng.random() < 0.5:
        return rng.choice(NUMBERS)
    parts = ["".join(rng.choice(digits) for _ in range(rng.randint(1, 5))) for _ in range(4)]
    signs = ["", " ", "-", "/", ".", ",", ":", "\u00a0", "\u00ad", "\\/", "⁄", "+", "(", ") ", ")"]
    return "".join(rng.choice(signs) + part for part in parts[: rng.randint(1, 4)])


def _sign(rng: random.Random) -> str:
    return rng.choice(SIGNS) * rng.choice([1, 1, 1, 2, 3, 5])


def _signs(rng: random.Random) -> str:
    return "".join(rng.choice(SIGNS + QUOTE_SIGNS) for _ in range(rng.randint(2, 6)))


def _joined(rng: random.Random) -> str:
    joint = rng.choice([*list("-_/.&+'@#,:;!?=~^\\*$"), "&amp;", "‐", "‑", "֊", "--", "’"])
    return joint.join(_piece(rng) for _ in range(rng.randint(2, 3)))


def _tag(rng: random.Random) -> str:
    return rng.choice(TAGS)


def _address(rng: random.Random) -> str:
    return _cased(rng, rng.choice(ADDRESSES))


def _smiley(rng: random.Random) -> str:
    return rng.choice(SMILEYS) + rng.choice(["", " ", ".", "x", ")"])


def _letters(rng: random.Random) -> str:
    pool = "abcdefghiklmnorstuyABCIMKSTU'`.’-&;0123\u00ad\u017f\u212a\u0130\u0131éÉß"
    return "".join(rng.choice(pool) for _ in range(rng.randint(1, 9)))


def _unicode(rng: random.Random) -> str:
    kinds: list[Callable[[], int]] = [
        lambda: rng.randrange(0x20, 0x250),
        lambda: rng.randrange(0x250, 0x3000),
        lambda: rng.randrange(0x3000, 0x10000),
        lambda: rng.randrange(0x10000, 0x20000),
        lambda: rng.randrange(0x10000, 0x110000),
    ]
    return "".join(_character(rng.choice(kinds)()) for _ in range(rng.randint(1, 4)))


def _special(rng: random.Random) -> str:
    return _piece(rng) + rng.choice(SPECIAL) + rng.choice(["", _word(rng)])


def _character(code_point: int) -> str:
    """The character, or a space for surrogates and line ends."""
    if 0xD800 <= code_point < 0xE000 or chr(code_point) in "\n\x0b\x0c\r\u2028\u2029":
        return " "
    return chr(code_point)


FAMILIES = [
    _word, _word, _word, _contraction, _abbreviation, _initials, _number, _sign, _signs, _tag,
    _address, _smiley, _letters, _unicode,
]  # fmt: skip


def _piece(rng: random.Random) -> str:
    return rng.choice(FAMILIES)(rng)


def _soup(rng: random.Random) -> str:
    families = [*FAMILIES, _quoted, _joined, _special]
    parts = []
    for _ in range(rng.randint(1, 8)):
        parts.append(rng.choice(families)(rng))
        parts.append(rng.choice([*SPACES, ""]) if rng.random() < 0.8 else "")
    return "".join(parts)


def _caption(rng: random.Random) -> str:
    """Words of a caption, then a few random edits."""
    ending = rng.choice([".", "", " .", "!", "...", ". ", '"'])
    text = list(" ".join(_word(rng) for _ in range(rng.randint(3, 12))) + ending)
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(text))
        text[at] = rng.choice(["", text[at] + rng.choice(SIGNS), _piece(rng), text[at].upper()])
    return "".join(text)


def _ascii(rng: random.Random) -> str:
    pool = [chr(code) for code in range(32, 127)]
    return "".join(rng.choice(pool) for _ in range(rng.randint(1, 30)))


def _pairs(rng: random.Random) -> str:
    """Short lines over a small alphabet, where rules compete."""
    pool = rng.choice(["'\"`.- nt", "aA.-'s ", "0 1-/.,()+", "<>ab ='\"/!", ":;=-)(DpP'o ", "a.@#_&;x/"])
    return "".join(rng.choice(pool) for _ in range(rng.randint(1, 16)))


def lines(count: int, seed: int) -> Iterator[str]:
    """That many lines; the same for the same seed."""
    rng = random.Random(seed)
    makers = [_soup, _soup, _soup, _soup, _caption, _caption, _pairs, _pairs, _ascii, _unicode]
    for _ in range(count):
        yield rng.choice(makers)(rng)


def code_point_lines() -> Iterator[str]:
    """Every character of the Basic Multilingual Plane, and samples beyond, in each place."""
    beyond = range(0x10000, 0x110000, 257)
    for code_point in [*range(0x10000), *beyond]:
        sign = _character(code_point)
        yield f"{sign} a{sign}b {sign}a a{sign} 1{sign}2 {sign}1 1{sign} x"
        yield f"A{sign}B. {sign}.{sign} it{sign}s don{sign}t '{sign} etc. {sign}x -{sign}- {sign}.com"
        yield f"http://x/{sign}y a@b{sign} <a b='{sign}'> S{sign} ΑΣ{sign} {sign}{sign}, #{sign}"
