"""The core of Neural Baby Talk: captions whose words may be regions of the image, which are named after them.

Lu et al., "Neural Baby Talk" (2018), on features of regions, as nocaps uses it. At each place a caption has a
word, or points to a region: a slot, which is filled with the name of the region's class or its plural. The
modules are those of the published code, with its names; without its CNN and its choice among finer classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from capeval.errors import OptionError
from capeval.toolkit import checked_integer
from capeval_decoding.baselines.features import FeatureFile, Floats
from capeval_decoding.search import Step
from capeval_decoding.state_machines import Constraint
from capeval_decoding.vocabulary import Vocabulary
from capeval_decoding.word_forms import constraint

__all__ = [
    "BabyTalk",
    "BabyTalkImage",
    "BabyTalkSizes",
    "SlotName",
    "SlotState",
    "load_image",
    "slot_constraint",
]

_MASKED = -1e8


@dataclass(frozen=True, kw_only=True)
class BabyTalkSizes:
    """The sizes of a model; the defaults are those of the published code.

    Attributes:
        feature: The numbers of a region's feature.
        context: The numbers of a region's feature in the file that the other attention reads.
        class_vector: The numbers of the vector of a class, and of what a box is projected to.
        embedding: The numbers of the vector of a word.
        hidden: The numbers of the state of each LSTM cell.
        attention: The numbers that features and states are projected to for attention.
    """

    feature: int = 2048
    context: int = 2048
    class_vector: int = 300
    embedding: int = 512
    hidden: int = 1024
    attention: int = 512

    def __post_init__(self) -> None:
        for each in fields(self):
            checked_integer(each.name, getattr(self, each.name), 1)


@dataclass(frozen=True, kw_only=True)
class SlotName:
    """What a slot of a class is filled with.

    Attributes:
        one: The name of the class.
        many: Its plural.
    """

    one: str
    many: str


@dataclass(frozen=True, kw_only=True, eq=False)
class BabyTalkImage:
    """An image: detected objects, or those of ground truth, and the regions that the other attention reads.

    Attributes:
        features: The features of the objects, a row an object.
        boxes: Their boxes: X1, Y1, X2, Y2 as parts of width and height, and their confidence.
        classes: The numbers of their classes, from 0.
        context: The features of the other regions, such as those of Visual Genome.
    """

    features: Floats
    boxes: Floats
    classes: NDArray[np.int64]
    context: Floats


@dataclass(frozen=True, eq=False)
class SlotState:
    """What captions carry from word to word, one row a caption.

    Attributes:
        cells: The states of the LSTM cells: h and c of the first, h and c of the second.
        taken: For each object, whether the caption has pointed to it: it can't do so again.
        plural: For each object, the two logits of one and many, were it pointed to at this place.
    """

    cells: tuple[Tensor, Tensor, Tensor, Tensor]
    taken: Tensor
    plural: Tensor

    def rows(self, index: NDArray[np.int64]) -> SlotState:
        """The state of some captions."""
        cells = tuple(each[index] for each in self.cells)
        return SlotState(cells, self.taken[index], self.plural[index])


class _Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: BabyTalkSizes) -> None:
        super().__init__()
        self.h2att = nn.Linear(sizes.hidden, sizes.attention)
        self.alpha_net = nn.Linear(sizes.attention, 1)

    def forward(self, hidden: Tensor, features: Tensor, projected: Tensor) -> Tensor:
        logits = self.alpha_net(torch.tanh(projected + self.h2att(hidden).unsqueeze(1))).squeeze(-1)
        attended: Tensor = torch.softmax(logits, dim=-1) @ features
        return attended


class _Pointer(nn.Module):  # type: ignore[misc]
    """The logits of the sentinel, which stands for all words, and of the objects."""

    def __init__(self, sizes: BabyTalkSizes) -> None:
        super().__init__()
        self.f_fc1 = nn.Linear(sizes.hidden, sizes.hidden)
        self.f_fc2 = nn.Linear(sizes.hidden, sizes.attention)
        self.h_fc1 = nn.Linear(sizes.hidden, sizes.attention)
        self.alpha_net = nn.Linear(sizes.attention, 1)

    def forward(self, hidden: Tensor, sentinel: Tensor, projected: Tensor, taken: Tensor) -> Tensor:
        word = self.f_fc2(torch.relu(self.f_fc1(sentinel))).unsqueeze(1)
        places = torch.cat([word, projected.expand(len(hidden), *projected.shape)], dim=1)
        logits = self.alpha_net(torch.tanh(places + self.h_fc1(hidden).unsqueeze(1))).squeeze(-1)
        free = torch.zeros_like(taken[:, :1])
        return logits.masked_fill(torch.cat([free, taken], dim=1), _MASKED)


class _Core(nn.Module):  # type: ignore[misc]
    def __init__(self, sizes: BabyTalkSizes) -> None:
        super().__init__()
        self.att_lstm = nn.LSTMCell(sizes.embedding + sizes.hidden, sizes.hidden)
        self.lang_lstm = nn.LSTMCell(2 * sizes.hidden, sizes.hidden)
        self.attention = _Attention(sizes)
        self.attention2 = _Attention(sizes)
        self.adaPnt = _Pointer(sizes)
        self.i2h_2 = nn.Linear(2 * sizes.hidden, sizes.hidden)
        self.h2h_2 = nn.Linear(sizes.hidden, sizes.hidden)

    def forward(
        self,
        words: Tensor,
        whole: Tensor,
        context: tuple[Tensor, Tensor],
        objects: tuple[Tensor, Tensor],
        taken: Tensor,
        cells: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
        """The output, the logits of the sentinel and the objects, and the states behind them."""
        h1, c1, h2, c2 = cells
        h1, c1 = self.att_lstm(torch.cat([whole.expand(len(words), -1), words], dim=1), (h1, c1))
        seen = self.attention(h1, *context) + self.attention2(h1, *objects)
        given = torch.cat([seen, h1], dim=1)
        # The sentinel reads the states before this word.
        sentinel = torch.sigmoid(self.i2h_2(given) + self.h2h_2(h2)) * torch.tanh(c2)
        h2, c2 = self.lang_lstm(given, (h2, c2))
        return h2, self.adaPnt(h2, sentinel, objects[1], taken), (h1, c1, h2, c2)


class BabyTalk(nn.Module):  # type: ignore[misc]
    """The core of Neural Baby Talk. A token is a word of the vocabulary, or else an object of the image.

    Args:
        vocabulary: The words.
        names: What the slots of each class are filled with.
        vectors: The fixed vectors of the classes, a row a class.
        sizes: The sizes.

    Raises:
        OptionError: The vectors have another shape.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        names: Sequence[SlotName],
        vectors: NDArray[np.floating[Any]],
        sizes: BabyTalkSizes,
    ) -> None:
        super().__init__()
        if vectors.shape != (len(names), sizes.class_vector):
            raise OptionError(
                f"'vectors' must have a row for each of the {len(names):,} classes and {sizes.class_vector}"
                f" columns (got {vectors.shape})"
            )
        self.vocabulary = vocabulary
        self.names = tuple(names)
        self.sizes = sizes
        fixed = torch.as_tensor(np.asarray(vectors, dtype=np.float32))
        self.det_fc = nn.Sequential(nn.Embedding.from_pretrained(fixed), nn.ReLU())
        self.loc_fc = nn.Sequential(nn.Linear(5, sizes.class_vector), nn.ReLU())
        self.embed = nn.Sequential(nn.Embedding(len(vocabulary) + len(names), sizes.embedding), nn.ReLU())
        self.fc_embed = nn.Sequential(nn.Linear(sizes.context, sizes.hidden), nn.ReLU())
        self.att_embed = nn.Sequential(nn.Linear(sizes.context, sizes.hidden), nn.ReLU())
        pooled = sizes.feature + 2 * sizes.class_vector
        self.pool_embed = nn.Sequential(nn.Linear(pooled, sizes.hidden), nn.ReLU())
        self.ctx2att = nn.Linear(sizes.hidden, sizes.attention)
        self.ctx2pool = nn.Linear(sizes.hidden, sizes.attention)
        self.core = _Core(sizes)
        self.logit = nn.Linear(sizes.hidden, len(vocabulary))
        self.bn_fc = nn.Sequential(
            nn.Linear(2 * sizes.hidden, sizes.hidden), nn.ReLU(), nn.Linear(sizes.hidden, 2)
        )

    def begin(self, image: BabyTalkImage) -> tuple[Step[SlotState], SlotState]:
        """What the search needs to caption an image: its `step`, and the state at the beginning.

        Raises:
            OptionError: Features have another width, an array has another length, or a class is not known.
        """
        _check_image(image, self.sizes, len(self.names))
        with torch.no_grad():
            objects = self._objects(image)
            context_features = torch.from_numpy(image.context)
            context = self.att_embed(context_features)
            whole = self.fc_embed(context_features.mean(dim=0, keepdim=True))
            projected, pointed = self.ctx2att(context), self.ctx2pool(objects)
        words = len(self.vocabulary)
        # The word that a model reads after it pointed to an object is that of the object's class.
        read = torch.cat([torch.arange(words), words + torch.from_numpy(image.classes)])

        def step(tokens: NDArray[np.int64], state: SlotState) -> tuple[NDArray[Any], SlotState]:
            with torch.no_grad():
                last = torch.from_numpy(tokens)
                taken = state.taken | (torch.arange(len(objects)) == (last - words).unsqueeze(1))
                hidden, places, cells = self.core(
                    self.embed(read[last]),
                    whole,
                    (context, projected),
                    (objects, pointed),
                    taken,
                    state.cells,
                )
                following = SlotState(cells, taken, self._plurals(hidden, objects))
                return self._scores(hidden, places).numpy(), following

        zeros = torch.zeros(1, self.sizes.hidden)
        none = torch.zeros(1, len(objects), dtype=torch.bool)
        return step, SlotState((zeros, zeros, zeros, zeros), none, torch.zeros(1, len(objects), 2))

    def caption(self, image: BabyTalkImage, tokens: Sequence[int]) -> str:
        """The text of a caption: its words, and the names of the objects that it points to, one or many."""
        step, state = self.begin(image)
        last, texts = self.vocabulary.boundary, []
        for token in tokens:
            _, state = step(np.array([last]), state)
            at = token - len(self.vocabulary)
            if at < 0:
                texts.append(self.vocabulary.words[token])
            else:
                name = self.names[image.classes[at]]
                texts.append(name.many if int(state.plural[0, at].argmax()) else name.one)
            last = token
        return " ".join(texts)

    def _objects(self, image: BabyTalkImage) -> Tensor:
        place = self.loc_fc(torch.from_numpy(image.boxes))
        named = self.det_fc(torch.from_numpy(image.classes))
        parts = [torch.from_numpy(image.features), place, named]
        return self.pool_embed(torch.cat(parts, dim=1))

    def _scores(self, hidden: Tensor, places: Tensor) -> Tensor:
        """The log-probabilities of all tokens: the words share that of the sentinel."""
        pointed = torch.log_softmax(places, dim=1)
        words = torch.log_softmax(self.logit(hidden), dim=1) + pointed[:, :1]
        # Objects that were taken can't be pointed to, whatever rounding leaves them.
        objects = pointed[:, 1:].masked_fill(places[:, 1:] <= _MASKED, -torch.inf)
        return torch.cat([words, objects], dim=1)

    def _plurals(self, hidden: Tensor, objects: Tensor) -> Tensor:
        pairs = torch.cat(
            [
                hidden.unsqueeze(1).expand(-1, len(objects), -1),
                objects.unsqueeze(0).expand(len(hidden), -1, -1),
            ],
            dim=2,
        )
        return self.bn_fc(pairs)


def load_image(objects: FeatureFile, context: FeatureFile, image: int) -> BabyTalkImage:
    """An image from two files of features.

    Args:
        objects: The file of the objects, with boxes and classes: detected ones, or those of ground truth.
        context: The file of the regions that the other attention reads.
        image: The image.

    Raises:
        FormatError: What a file has of the image is not what it must be.
        MismatchError: A file does not have the image.
    """
    width, height = objects.size(image)
    places = objects.boxes(image) / np.array([width, height, width, height], dtype=np.float32)
    return BabyTalkImage(
        features=objects.features(image),
        boxes=np.column_stack([places, objects.scores(image)]),
        classes=objects.classes(image),
        context=context.features(image),
    )


def slot_constraint(
    name: str, phrases: Sequence[str], model: BabyTalk, image: BabyTalkImage, classes: Sequence[int]
) -> Constraint:
    """The constraint that any of some phrases meets, and a slot of an object of some classes.

    Raises:
        OptionError: The image has no such object, and the vocabulary lacks words of each phrase.
    """
    words = len(model.vocabulary)
    slots = frozenset((words + np.flatnonzero(np.isin(image.classes, classes))).tolist())
    if not slots:
        return constraint(name, phrases, model.vocabulary)
    known = [each for each in phrases if all(word in model.vocabulary.numbers for word in each.split())]
    spoken = constraint(name, known, model.vocabulary).phrases if known else ()
    return Constraint(name=name, phrases=((slots,), *spoken))


def _check_image(image: BabyTalkImage, sizes: BabyTalkSizes, classes: int) -> None:
    objects = len(image.features)
    expected = {"features": (objects, sizes.feature), "boxes": (objects, 5), "classes": (objects,)}
    expected["context"] = (len(image.context), sizes.context)
    for name, shape in expected.items():
        found = getattr(image, name).shape
        if found != shape or not shape[0]:
            raise OptionError(f"{name!r} must have the shape {shape}, with at least one row (got {found})")
    if not ((image.classes >= 0) & (image.classes < classes)).all():
        wrong = image.classes[(image.classes < 0) | (image.classes >= classes)][0]
        raise OptionError(f"'classes' must be from 0 to {classes - 1} (got {wrong})")
