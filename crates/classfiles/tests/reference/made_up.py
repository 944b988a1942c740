"""Random hard inputs for ReferenceDump.java: tagged words or constituent trees.

python made_up.py pairs SEED COUNT GOLDENS... > pairs.jsonl
python made_up.py trees SEED COUNT GOLDENS... > trees.txt

GOLDENS are JSON Lines files with one dumped caption per line, optionally gzipped. Pairs are words of these
captions with random changes of endings, characters and tags. Trees are those of the captions, and small
trees with the words in the rules, with random changes of labels, words and brackets.
"""

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

Node = list[Any]

ENDINGS = (
    "s es ed ing ies ied ying en er est ves men ae i a x eaux ren ss zzes sses ches shes ses ized ising "
    "ally nt n't 's 'd 'll 've -ed -ing sing ting tted pped gging lled lling bbed nned rring oes oed ued "
    "uing yed eed eeing feet women children worth like"
).split()
CHARACTERS = "\u1cf0éÉßİΣﬁ日\u00a0_ \n-'./09&\u2013\tſ😀"
TAGS = (
    "VB VBD VBG VBN VBP VBZ NN NNS NNP NNPS JJ JJR JJS RB RBR RBS MD POS PRP PRP$ CD DT IN TO UH SYM LS "
    "FW WP WDT WRB WP$ EX PDT RP CC . , : $ -LRB-"
).split()
CATEGORIES = (
    "NP PP VP S SBAR ADVP ADJP QP UCP CONJP SQ SBARQ WHNP NX PRT FRAG INTJ PRN X SINV WHADVP XS NP-TMP "
    "NP-ADV NML ROOT"
).split()
RULE_WORDS = (
    "as well such due to because instead of in case course order rather than not mention so that if prior "
    "kind whether or opposed let alone between all but is how come had 'd better more less up at least "
    "once according also most best after before until since during now and yet then either neither both "
    "be am are 's there who what younger older January Feb. 1999 3 , $ about was"
).split()
PHRASES = [
    "(CONJP (RB as) (RB well) (IN as))",
    "(PP (IN because) (IN of) (NP (NN rain)))",
    "(SBAR (IN in) (NN order) (S (VP (TO to) (VP (VB go)))))",
    "(CONJP (RB not) (TO to) (VB mention))",
    "(ADVP (IN in) (ADVP (RB between)))",
    "(VP (VBD had) (ADVP (RBR better)) (VP (VB go)))",
    "(QP (IN up) (TO to) (CD 5))",
    "(ADVP (IN at) (JJS least))",
    "(PP (VBG according) (PP (TO to) (NP (NN x))))",
    "(VP (VP (VBZ runs)) (CONJP (CC but) (RB also)) (VP (VBZ jumps) (NP (NN x))))",
    "(PP (IN in) (CC or) (IN on) (NP (DT the) (NN box)))",
    "(UCP-TMP (DT a) (NN x) (CC and) (JJ y))",
    "(NP (QP (CD 5)) (QP (CC or) (CD 6)))",
    "(QP ($ $) (CD 5) (CC or) ($ $) (CD 6))",
    "(NP (QP (IN about) ($ $) (CD 5) (CD million)) (-NONE- *U*))",
    "(SBARQ (WHNP (WP Who)) (SQ (VBZ is) (NP (DT the) (NN man))) (. ?))",
    "(NP (NP (NNP January)) (NP (CD 1999)))",
    "(NP (NP (NNP Feb.) (CD 3)) (, ,) (NP (CD 1999)))",
    "(NP (NP (NP (NN x))))",
    "(VP (VP (VBZ runs)) (CC and) (RB yet) (VP (VBZ jumps)))",
    "(S (S (VP (VBZ x))) (CC and) (ADVP (RB so)) (S (VP (VBZ y))))",
    "(FRAG (ADVP (RB now)) (VP (VBG going)))",
    "(NP (NP (DT the) (NN day)) (SBAR (IN after) (S (NP (DT the) (NN x)) (VP (VBD was)))))",
    "(ADVP (RB now) (SBAR (IN that) (S (NP (PRP he)) (VP (VBZ runs)))))",
]


def read_sentences(paths: list[str]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt") if path.endswith(".gz") else Path(path).open(encoding="utf-8") as lines:
            for line in lines:
                yield from json.loads(line)["s"]


def make_pair(words: list[str]) -> tuple[str, str]:
    word = random.choice(words)
    kind = random.random()
    if kind < 0.4:
        word += random.choice(ENDINGS)
    elif kind < 0.5:
        word += word[-1] + random.choice(["ed", "ing", "er"])
    elif kind < 0.6:
        place = random.randint(0, len(word))
        word = word[:place] + random.choice(CHARACTERS) + word[place:]
    elif kind < 0.7:
        word += random.choice("-_") + random.choice([*words, "up", "out", "off", "down"])
    elif kind < 0.8:
        word = "".join(
            random.choice("bcdfgklmnprstvxz") + random.choice("aeiouy") for _ in range(3)
        ) + random.choice(ENDINGS)
    if random.random() < 0.15:
        word = random.choice([str.upper, str.capitalize, str.title, str.swapcase])(word)
    return word, random.choice(TAGS)


def parse_tree(text: str) -> Node:
    top: Node = []
    stack = [top]
    for before, token in pairwise(["", *re.findall(r"[()]|[^\s()]+", text)]):
        if token == "(":
            stack.append([])
        elif token == ")":
            node = stack.pop()
            stack[-1].append(node)
        else:
            assert before, "a tree must begin with a bracket"
            stack[-1].append(token)
    return top[0]


def format_tree(node: Node | str) -> str:
    return node if isinstance(node, str) else f"({' '.join(map(format_tree, node))})"


def list_places(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield each node as its parent and its index there."""
    for place, child in enumerate(node):
        if isinstance(child, list):
            yield node, place
            yield from list_places(child)


def change_randomly(tree: Node) -> None:
    parent, place = random.choice(list(list_places(tree)))
    child = parent[place]
    is_tag = not any(isinstance(part, list) for part in child[1:])
    kind = random.random()
    if kind < 0.3:
        child[0] = random.choice(TAGS if is_tag else CATEGORIES)
    elif kind < 0.5 and is_tag:
        child[1] = random.choice(RULE_WORDS)
    elif kind < 0.7:
        parent.insert(
            place, [random.choice(["CC", "CC", ",", "RB", "JJ", "DT", "NN", "IN"]), random.choice(RULE_WORDS)]
        )
    elif kind < 0.8:
        parent[place] = [random.choice(CATEGORIES), child]
    elif kind < 0.9 and not is_tag:
        parent[place : place + 1] = child[1:]
    else:
        end = min(len(parent), place + random.randint(1, 3))
        parent[place:end] = [[random.choice(CATEGORIES), *parent[place:end]]]


def make_coordination() -> Node:
    """Return a random flat noun phrase with conjunctions."""
    phrase: Node = [random.choice(["NP", "NP", "NP-TMP"])]
    if random.random() < 0.3:
        phrase.append(
            [random.choice(["DT", "CC", "RB", "NNS"]), random.choice(["either", "Both", "neither", "a"])]
        )
    for tag in random.choices("NN NNS JJ DT CC CC , NNP RB VBG CD".split(), k=random.randint(3, 9)):
        phrase.append(
            [
                tag,
                {"CC": random.choice(["and", "or", "&"]), ",": ","}.get(
                    tag, random.choice(["cat", "both", "x"])
                ),
            ]
        )
    return phrase


def make_tree(real: list[str]) -> str:
    kind = random.random()
    if kind < 0.4:
        made = parse_tree(random.choice(real))
    elif kind < 0.7:
        made = [
            "ROOT",
            [random.choice(CATEGORIES), *map(parse_tree, random.choices(PHRASES, k=random.randint(1, 3)))],
        ]
    else:
        made = ["ROOT", ["S", make_coordination(), ["VP", ["VBZ", "runs"], make_coordination()]]]
    for _ in range(random.randint(0, 5)):
        change_randomly(made)
    return format_tree(made)


def main() -> None:
    kind, seed, count, *paths = sys.argv[1:]
    random.seed(int(seed))
    known = list(read_sentences(paths))
    if kind == "pairs":
        words = sorted({word for sentence in known for word in sentence["t"]})
        for _ in range(int(count)):
            print(json.dumps(make_pair(words)))
    elif kind == "trees":
        real = sorted({sentence["tree"] for sentence in known})
        print("\n".join(dict.fromkeys(make_tree(real) for _ in range(int(count)))))
    else:
        sys.exit(f"expected 'pairs' or 'trees' (got {kind!r})")


if __name__ == "__main__":
    main()
