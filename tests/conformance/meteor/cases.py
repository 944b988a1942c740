"""METEOR test cases in our own words: plain scenes, their variations, and unusual texts."""

from __future__ import annotations

import random
from typing import NamedTuple

SCENES = """
a woman cycles along the river path with her dog in the basket
a lady is riding a bike beside the water with a small dog in front
woman on a bicycle with a puppy riding in its basket
the cyclist carries a little dog next to the river

two boys are playing football on a muddy field
a pair of young men kick a ball around in the mud
children play soccer on a wet playing field
two kids running after a ball on the grass

an old man sells vegetables at an open air market
a man stands behind a stall full of vegetables
elderly man selling produce on the street
a vendor is waiting for customers at the market

a black cat sleeps on top of a closed laptop computer
the cat is lying down on a laptop
a sleeping cat lies on someone 's computer
a kitty takes a nap upon the notebook

a train pulls into the station as people wait on the platform
passengers are waiting for the train that is arriving
a red train is coming into a railway station
people standing on a platform in front of a train

a plate of rice , beans and grilled chicken on a wooden table
grilled chicken with beans and rice is served on a white plate
there is a dish with chicken and rice on the table
a meal of meat , rice and black beans

three surfers carry their boards towards the ocean at sunset
a group of people walking to the sea with surfboards
surfers are heading to the water at the end of the day
men with surfboards walk across the beach

a child brushes her teeth in front of the bathroom mirror
a little girl is brushing her teeth
a young girl looks at herself in the mirror while brushing teeth
kid with a toothbrush stands before a mirror

several buses are parked in a row outside of the stadium
a number of buses are parked next to each other
buses stand in a line near a sports arena
a row of parked buses by the side of a large building

a giraffe bends down to eat leaves from a low bush
the giraffe is eating from the shrubs
a tall giraffe eats the leaves off a tree
giraffe feeding on green leaves in the wild

the kitchen has white cabinets , a stove and a large refrigerator
a kitchen with a fridge and a stove top oven
a clean white kitchen containing a refrigerator
the stove is located next to the fridge in this kitchen

a skier jumps high over the snow covered hill
a person on skis is in the air above the slope
someone is jumping with skis down a mountain
a man doing a trick in mid-air while skiing

a clock tower rises above the roofs of the old town
the tower has a big clock on each of its sides
a tall building with a clock near the top
an ancient clock tower in the centre of town

a couple shares an umbrella while crossing the busy street
two people walk across the road under one umbrella
a man and a woman are crossing a street in the rain
people hold an umbrella as they cross the road

a baby elephant follows its mother through the tall grass
the young elephant walks behind a bigger one
two elephants , an adult and a calf , walk in a field
an elephant and its baby are walking through the grass

a baker puts loaves of bread into the hot oven
bread is being placed in the oven by a man
the man bakes bread in a big oven
a person with a shovel full of bread at an oven

a sheep dog watches over a flock of sheep on the hill
the dog is looking at a number of sheep
sheep graze on a hillside while a dog keeps watch
a flock of sheep grazing and a dog lying nearby

a teddy bear sits on the bed between two pillows
a stuffed bear has been placed on a made bed
the bed has two pillows and a teddy bear on it
a toy bear sitting on top of the bed

a student types an essay late at night in the library
someone is writing on a computer at the library
a person works on a laptop surrounded by books
the student was working at a desk with many books

a fruit bowl holds bananas , apples and one orange
bananas and apples are in a bowl
a bowl filled with different kinds of fruit
one orange lies in a bowl next to the apples and the bananas
"""

ODD = [
    "",
    "a",
    "the the the the the the the the",
    "a a a b a a b b a a a b",
    "Mr. Smith of the U.S. Navy paid $1,000 ( or more ) on No. 5",
    "the rock 'n' roll of the 1990's isn't o'clock's",
    "a,b,c,d 1,2,3 x,4 5,y",
    "well-known , state-of-the-art x-ray -- T-shirt",
    "wait ... what ?! .. no.... Yes.",
    "``quoted'' text “smart” ‘single’ it’s",
    "œuvre d'art ÉTÉ naïve STRASSE straße",
    "кошка сидит на столе рядом с окном",
    "猫がマットの上に座っている",
    "ao c1 ac bD",
    "25\u00a01/2 -lrb- two -rrb- 3\u20034",
    "went gone going goes go",
    "women men geese mice children teeth feet",
    "happier happiest happily happy happiness",
    "?? ??? is be have which are",
    "in front of in front in the front of before",
    "DOTMULTI a.b DOTMULTI. etc. Etc.",
    "a||b |c| x|||y",
]


class Case(NamedTuple):
    """A candidate and its references."""

    candidate: str
    references: list[str]


def _variants(rng: random.Random, candidate: str, references: list[str], other: str) -> list[Case]:
    words = candidate.split(" ")
    shuffled = rng.sample(words, len(words))
    changed = [
        candidate,
        " ".join(shuffled),
        " ".join(reversed(words)),
        " ".join(words[: len(words) // 2]),
        " ".join(words + words),
        candidate.upper() + " !",
        other,
        references[0] + " " + references[1],
        rng.choice(references),
    ]
    cases = [Case(text, references) for text in changed]
    return [*cases, Case(candidate, references[:1]), Case(candidate, references[::-1])]


def cases() -> list[Case]:
    """All cases, the same each time."""
    rng = random.Random(20)
    scenes = [scene.split("\n") for scene in SCENES.strip().split("\n\n")]
    found = []
    for position, scene in enumerate(scenes):
        held_out = rng.randrange(len(scene))
        references = scene[:held_out] + scene[held_out + 1 :]
        other = rng.choice(scenes[position - 1])
        found += _variants(rng, scene[held_out], references, other)
    everything = " ".join(caption for scene in scenes for caption in scene).split(" ")
    for _ in range(10):
        found.append(
            Case(" ".join(rng.choices(everything, k=100)), [" ".join(rng.choices(everything, k=60))])
        )
    for position, text in enumerate(ODD):
        following = ODD[(position + 1) % len(ODD)]
        found.append(Case(text, [following, text + " and more"]))
        found.append(Case(text.lower() + " .", [text]))
        found.append(Case(rng.choice(scenes[0]), [text]))
    return found
