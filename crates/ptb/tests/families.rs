//! Tests of each family of rules, with case and punctuation kept.
//!
//! The expected tokens are those of the Stanford tokenizer (CoreNLP 3.4.1, `PTBTokenizer -preserveLines`),
//! with another line after each line.

use capeval_ptb::{Options, Punctuation, Tokenizer};

fn check(cases: &[(&str, &str)]) {
    let options = Options { lowercase: false, punctuation: Punctuation::Keep };
    let mut tokenizer = Tokenizer::new();
    for (text, expected) in cases {
        let mut tokens: Vec<String> = Vec::new();
        tokenizer.tokenize_in_batch(text, &["'\""], &options, |token| tokens.push(token.into()));
        assert_eq!(tokens.join(" "), *expected, "for {text:?}");
    }
}

#[test]
fn words() {
    check(&[
        ("A man rides a wave.", "A man rides a wave ."),
        ("colour grey programme january", "colour grey programme january"),
        ("café naïve Ελλάδα 東京 नमस्ते ไทย", "café naïve Ελλάδα 東京 नमस्ते ไทย"),
        ("a\u{ad}b \u{ad}", "ab -"),
        ("end.Start what?ever Yahoo!News word.,", "end.Start what?ever Yahoo!News word. ,"),
        ("&eacute;t&eacute; caf&zz;", "&eacute;t&eacute; caf & zz ;"),
        ("x\u{200b}y \u{feff}z", "x y z"),
        ("😀 smile 𝐀 a😀b", "smile a b"),
        ("\u{1885} \u{19b0} \u{528}", "\u{1885}"),
        ("Ⅷ Ⓐ K \u{17f}o", "Ⓐ K \u{17f}o"),
    ]);
}

#[test]
fn contractions() {
    check(&[
        (
            "I'm can't won't it's they'll we've you're he'd",
            "I 'm ca n't wo n't it 's they 'll we 've you 're he 'd",
        ),
        ("don’t don‘t don`t don&apos;t DON'T", "do n't do n`t do n`t do n't DO N'T"),
        ("cannot CANNOT gonna Gotta lemme gimme wanna", "can not CAN NOT gon na Got ta lem me gim me wan na"),
        ("'tis 'twas 'em 'til 'n' '90s '98 ", "'t is 't was 'em 'til 'n' '90s '98"),
        (
            "y'all Y'know O'Neil d'Arc l'avion ma'am o'clock rock'n'roll",
            "y' all Y' know O'Neil d'Arc l'avion ma'am o'clock rock 'n' roll",
        ),
        ("the dogs' boss's 1990's n't nn't", "the dogs ' boss 's 1990 's n't nn ' t"),
        ("c'mon C'mon s'mores ol' cont'd Cap'n c'est", "c'mon C'mon s'mores ol' cont 'd Cap'n c'est"),
        ("can't've I'd've shouldn't've", "ca n't 've I 'd 've should n't 've"),
    ]);
}

#[test]
fn abbreviations() {
    check(&[
        ("Mr. Smith met Dr. Jones at St. Mary's.", "Mr. Smith met Dr. Jones at St. Mary 's ."),
        ("Acme Inc. sells. Acme Inc. The end", "Acme Inc. sells . Acme Inc. . The end"),
        ("the U.S. The U.S. team", "the U.S. . The U.S. team"),
        ("section B. The next", "section B . The next"),
        ("section B. the next", "section B. the next"),
        ("Jan. 5 etc. and so on etc.", "Jan. 5 etc. and so on etc."),
        ("no. 5 fig. 3 fig. a pp. 12", "no. 5 fig. 3 fig . a pp. 12"),
        ("Pty. Ltd. Pte. ltd. co. lim", "Pty. Ltd. . Pte. ltd. co. lim"),
        ("Miss. miss. Ark. ark.", "Miss. miss . Ark. ark ."),
        ("10 a.m. Sept. 3rd vs. them", "10 a.m. Sept. 3rd vs. them"),
        ("\u{131}ll. \u{131}Nc. x", "\u{131}ll . \u{131}Nc. x"),
        ("U.S.-U.K. Korean-U.S. A.B.C.", "U.S.-U.K. Korean-U.S. A.B.C."),
    ]);
}

#[test]
fn numbers() {
    check(&[
        (
            "1,000.50 -3 +4 .5 1:30 1/2 25 1/2 25-1/2 3\\/4 5⁄8",
            "1,000.50 -3 +4 .5 1:30 1/2 25\u{a0}1/2 25-1/2 3\\/4 5⁄8",
        ),
        ("12/25/2014 1-2-99 12345/6", "12/25/2014 1-2-99 12345/6"),
        ("½ ¼ ⅔ ⅛ 1½ x² H₂O 10⁻³", "1/2 1/4 2/3 ⅛ 1 1/2 x ² H ₂ O 10 ⁻³"),
        ("$5 US$5 £3 €9 50¢ ¥100 ₤2 #5", "$ 5 US$ 5 # 3 $ 9 50 cents ¥ 100 ₤ 2 # 5"),
        (
            "(555) 123-4567 555-123-4567 555.123.4567 +1 555 123 4567",
            "-LRB-555-RRB-\u{a0}123-4567 555-123-4567\u{a0}555 .123.4567 +1 555\u{a0}123\u{a0}4567",
        ),
        ("1st 2nd 3rd 20th 5% 1990s 6pm ٣٫١٤ १२ １２", "1st 2nd 3rd 20th 5 % 1990s 6pm ٣٫١٤ १२ １２"),
    ]);
}

#[test]
fn web() {
    check(&[
        (
            "see http://example.org/a?b=c&d=1. or www.example.com/x,",
            "see http://example.org/a?b=c&d=1 . or www.example.com / x ,",
        ),
        (
            "me@example.org <me@x.org> &lt;a@b&gt; a@ @user #tag #1",
            "me@example.org <me@x.org> &lt;a@b&gt; a @ @user #tag # 1",
        ),
        ("😀.com 9.com a-b.org Example.COM", "😀.com 9 . com a-b . org Example.COM"),
        ("file.txt a.b.html index.php? x.unknown", "file.txt a.b.html index.php ? x.unknown"),
        (
            "<b>bold</b> <br /> <a href=\"x y\">z</a> <!-- no --> <1>",
            "<b> bold </b> <br\u{a0}/> <a\u{a0}href=\"x\u{a0}y\"> z </a> <!--\u{a0}no\u{a0}--> < 1 >",
        ),
        ("&amp; &AMP; &lt; &gt; &nbsp; &mdash; &odq; &#39; &quot;a&quot;", "& & < > -- &odq; &#39; `` a ''"),
    ]);
}

#[test]
fn punctuation() {
    check(&[
        (
            "\"quoted\" 'single' ``latex'' “curly” ‘one’ «deux» ‹x›",
            "`` quoted '' ` single ' `` latex '' `` curly '' ` one ' `` deux '' ` x '",
        ),
        ("a -- b --- c ---- d ----- e - f – g — h ― i", "a -- b -- c -- d ----- e - f -- g -- h -- i"),
        ("wait... wait.. wait…. wait. . . wait ......", "wait ... wait . . wait ... . wait ... wait ... ."),
        ("(a) [b] {c} <d> << e >>", "-LRB- a -RRB- -LSB- b -RSB- -LCB- c -RCB- <d> << e >>"),
        ("what?! no!! hm; ok: x, y、z。", "what ?! no !! hm ; ok : x , y 、 z 。"),
        (
            "a * b ** c \\* d / e = f + g % h & i ~ j ^ k | l \\ m @@ ## __",
            "a * b ** c \\* d / e = f + g % h & i ~ j ^ k | l \\ m @@ ## __",
        ),
        ("© ® ™ ° • · → ♥ ★", "© ® ™ ° • · → ♥ ★"),
    ]);
}

#[test]
fn faces() {
    check(&[
        (
            ":) :-( ;) =D :P <:) >:( :'( :o :x 8) a:)b",
            ":-RRB- :--LRB- ;-RRB- =D :P <:-RRB- >:-LRB- :'-LRB- : o : x 8 -RRB- a : -RRB- b",
        ),
        (":) and :D.", ":-RRB- and :D ."),
        (
            "^_^ -_- >_< (^_^) (-.-) (^-^) x_x x.[^x=a b<>]",
            "^_^ -_- >_< -LRB-^_^-RRB- -LRB--.--RRB- -LRB-^-^-RRB- x_x x.[^x=a b<>]",
        ),
    ]);
}

#[test]
fn compounds() {
    check(&[
        (
            "well-known state-of-the-art U.S.-based mid-1990s 3-year-old",
            "well-known state-of-the-art U.S.-based mid-1990s 3-year-old",
        ),
        ("and/or either/or/both w/o 24/7 n/a km/h", "and/or either/or/both w/o 24/7 n/a km/h"),
        ("AT&T R&D AT&amp;T S&P-500 C++ C# F#", "AT&T R&D AT&T S&P-500 C++ C# F#"),
        (
            "twenty_one a‐b a‑b anti-war pro-life -LRB- -rsb-",
            "twenty_one a‐b a‑b anti-war pro-life -LRB- -rsb-",
        ),
        ("R+D X+Y. a+b", "R+D X+Y . a + b"),
    ]);
}
