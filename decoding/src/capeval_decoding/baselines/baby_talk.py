"""The core of Neural Baby Talk: captions with slots that point to image regions.

Lu et al., "Neural Baby Talk" (2018), on region features, as used by nocaps. Each position of a caption holds
a word or a slot, which points to a region and is filled with the name of the region's class or its plural.
The modules and their names are the same as in the published code, which also contains a CNN and a choice
among fine-grained classes; both are omitted here.
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
from capeval.toolkit import validate_integer
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
    "make_slot_constraint",
]

_MASKED = -1e8


@dataclass(frozen=True, kw_only=True)
class BabyTalkSizes:
    """Layer sizes of a model; the defaults match the published code.

    Attributes:
        feature: Dimension of an object's feature.
        context: Dimension of a context region's feature.
        class_vector: Dimension of a class vector and of the projection of a box.
        embedding: Dimension of a word vector.
        hidden: Dimension of the state of each LSTM cell.
        attention: Dimension of the projections of features and states in the attention.
    """

    feature: int = 2048
    context: int = 2048
    class_vector: int = 300
    embedding: int = 512
    hidden: int = 1024
    attention: int = 512

    def __post_init__(self) -> None:
        for each in fields(self):
            validate_integer(each.name, getattr(self, each.name), 1)


@dataclass(frozen=True, kw_only=True)
class SlotName:
    """Words that fill the slots of a class.

    Attributes:
        one: Singular name of the class.
        many: Plural name of the class.
    """

    one: str
    many: str


@dataclass(frozen=True, kw_only=True, eq=False)
class BabyTalkImage:
    """An image: its detected or ground-truth objects, and its context regions.

    Attributes:
        features: Features of the objects, one row per object.
        boxes: Boxes of the objects, one row per object: X1, Y1, X2, Y2 as fractions of width and height, and
            the confidence.
        classes: Class indices of the objects, from 0.
        context: Features of the context regions, such as Visual Genome regions, one row per region.
    """

    features: Floats
    boxes: Floats
    classes: NDArray[np.int64]
    context: Floats


@dataclass(frozen=True, eq=False)
class SlotState:
    """Decoder state between two words, with one row per caption.

    Attributes:
        cells: States of the LSTM cells: h and c of the first, h and c of the second.
        taken: For each object, whether the caption has already pointed to it; it cannot do so again.
        plural: For each object, the logits of its singular and plural name if the caption pointed to it here.
    """

    cells: tuple[Tensor, Tensor, Tensor, Tensor]
    taken: Tensor
    plural: Tensor

    def rows(self, index: NDArray[np.int64]) -> SlotState:
        """Return the state of the captions at the given rows."""
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
    """Pointer logits: the sentinel, which stands for all words, then the objects."""

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
        """Return the output, the logits of sentinel and objects, and the new cell states."""
        h1, c1, h2, c2 = cells
        h1, c1 = self.att_lstm(torch.cat([whole.expand(len(words), -1), words], dim=1), (h1, c1))
        seen = self.attention(h1, *context) + self.attention2(h1, *objects)
        given = torch.cat([seen, h1], dim=1)
        # The sentinel uses h2 and c2 from before this word, as in the published code.
        sentinel = torch.sigmoid(self.i2h_2(given) + self.h2h_2(h2)) * torch.tanh(c2)
        h2, c2 = self.lang_lstm(given, (h2, c2))
        return h2, self.adaPnt(h2, sentinel, objects[1], taken), (h1, c1, h2, c2)


class BabyTalk(nn.Module):  # type: ignore[misc]
    """The core of Neural Baby Talk.

    Tokens below `len(vocabulary)` are words; the tokens after them are the objects of the image.

    Args:
        vocabulary: Vocabulary of the words.
        names: Singular and plural names of each class.
        vectors: Fixed class vectors, shape (classes, `sizes.class_vector`).
        sizes: Layer sizes.

    Raises:
        OptionError: The class vectors have the wrong shape.
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

    def make_step(self, image: BabyTalkImage) -> tuple[Step[SlotState], SlotState]:
        """Return the step function and the initial state for beam search.

        Raises:
            OptionError: An array of the image has the wrong shape, or a class is unknown.
        """
        _check_image(image, self.sizes, len(self.names))
        with torch.no_grad():
            objects = self._embed_objects(image)
            context_features = torch.from_numpy(image.context)
            context = self.att_embed(context_features)
            whole = self.fc_embed(context_features.mean(dim=0, keepdim=True))
            projected, pointed = self.ctx2att(context), self.ctx2pool(objects)
        words = len(self.vocabulary)
        # After pointing to an object, the model reads the embedding of the object's class.
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
                following = SlotState(cells, taken, self._score_plurals(hidden, objects))
                return self._score_tokens(hidden, places).numpy(), following

        zeros = torch.zeros(1, self.sizes.hidden)
        none = torch.zeros(1, len(objects), dtype=torch.bool)
        return step, SlotState((zeros, zeros, zeros, zeros), none, torch.zeros(1, len(objects), 2))

    def caption(self, image: BabyTalkImage, tokens: Sequence[int]) -> str:
        """Return the text of a caption, with slots filled by singular or plural names."""
        step, state = self.make_step(image)
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

    def _embed_objects(self, image: BabyTalkImage) -> Tensor:
        place = self.loc_fc(torch.from_numpy(image.boxes))
        named = self.det_fc(torch.from_numpy(image.classes))
        parts = [torch.from_numpy(image.features), place, named]
        return self.pool_embed(torch.cat(parts, dim=1))

    def _score_tokens(self, hidden: Tensor, places: Tensor) -> Tensor:
        """Return log-probabilities of all tokens; words share the sentinel's probability."""
        pointed = torch.log_softmax(places, dim=1)
        words = torch.log_softmax(self.logit(hidden), dim=1) + pointed[:, :1]
        # The mask is finite, so rounding could leave an excluded object a probability above 0.
        objects = pointed[:, 1:].masked_fill(places[:, 1:] <= _MASKED, -torch.inf)
        return torch.cat([words, objects], dim=1)

    def _score_plurals(self, hidden: Tensor, objects: Tensor) -> Tensor:
        pairs = torch.cat(
            [
                hidden.unsqueeze(1).expand(-1, len(objects), -1),
                objects.unsqueeze(0).expand(len(hidden), -1, -1),
            ],
            dim=2,
        )
        return self.bn_fc(pairs)


def load_image(objects: FeatureFile, context: FeatureFile, image: int) -> BabyTalkImage:
    """Load an image from two feature files.

    Args:
        objects: Feature file of the detected or ground-truth objects, with boxes and classes.
        context: Feature file of the context regions.
        image: Image id.

    Raises:
        FormatError: An entry of the image is invalid.
        MismatchError: The image is missing from a file.
    """
    width, height = objects.size(image)
    places = objects.boxes(image) / np.array([width, height, width, height], dtype=np.float32)
    return BabyTalkImage(
        features=objects.features(image),
        boxes=np.column_stack([places, objects.scores(image)]),
        classes=objects.classes(image),
        context=context.features(image),
    )


def make_slot_constraint(
    name: str, phrases: Sequence[str], model: BabyTalk, image: BabyTalkImage, classes: Sequence[int]
) -> Constraint:
    """Return a constraint that is met by a phrase or by a slot of one of the classes.

    Args:
        name: Name of the constraint.
        phrases: Phrases that meet the constraint; phrases with words outside the vocabulary are ignored.
        model: Model with the vocabulary.
        image: Image with the objects.
        classes: Class indices of the objects that meet the constraint.

    Raises:
        OptionError: The image has no such object, and each phrase has a word outside the vocabulary.
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
