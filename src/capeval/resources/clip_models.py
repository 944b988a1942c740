"""CLIP models: features of images and texts, from a checkpoint in the format of transformers.

PyTorch, transformers and Pillow are imported when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from capeval._internal.file_fingerprints import fingerprint_file
from capeval._internal.optional_packages import make_missing_package_error
from capeval._internal.progress import report_progress
from capeval.data.scores import FloatArray
from capeval.errors import FormatError, FormatErrorKind, OptionError, ResourceError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["ClipModel", "fingerprint_checkpoint", "load_clip_model", "prepare_image"]

# The mean and standard deviation of red, green and blue: line 94 of `clipscore.py`.
_MEANS = np.array([0.48145466, 0.4578275, 0.40821073], dtype=np.float32)
_DEVIATIONS = np.array([0.26862954, 0.26130258, 0.27577711], dtype=np.float32)


class ClipModel:
    """A CLIP model that computes features, which are not normalized.

    Args:
        model: The `CLIPModel` of transformers.
        tokenizer: Its tokenizer.
        device: PyTorch's name of the device.
    """

    def __init__(self, model: Any, tokenizer: Any, device: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._device = device

    def encode_texts(self, texts: Sequence[str], batch: int) -> FloatArray:
        """Return the features of texts, with shape `(texts, dimension)`.

        As in the published code, HTML entities are replaced and long texts are cut, to 77 tokens in the
        published models.
        """
        from html import unescape

        limit = self._model.config.text_config.max_position_embeddings

        def encode(some: Sequence[str]) -> Any:
            cleaned = [" ".join(unescape(unescape(text)).split()) for text in some]
            tokens = self._tokenizer(
                cleaned, padding=True, truncation=True, max_length=limit, return_tensors="pt"
            ).to(self._device)
            pooled = self._model.text_model(**tokens)[1]
            return self._model.text_projection(pooled)

        return self._encode("Encoding captions", encode, texts, batch)

    def encode_images(self, files: Sequence[Path], batch: int) -> FloatArray:
        """Return the features of images, with shape `(files, dimension)`.

        Raises:
            FormatError: A file is not an image that can be read.
            OSError: A file can't be read.
        """
        import torch

        size = self._model.config.vision_config.image_size

        def encode(some: Sequence[Path]) -> Any:
            pixels = torch.from_numpy(np.stack([_read_image(file, size) for file in some]))
            pooled = self._model.vision_model(pixels.to(self._device, self._model.dtype))[1]
            return self._model.visual_projection(pooled)

        return self._encode("Encoding images", encode, files, batch)

    def _encode(
        self, work: str, encode: Callable[[Any], Any], inputs: Sequence[Any], batch: int
    ) -> FloatArray:
        import torch

        features = np.empty((len(inputs), self._model.config.projection_dim))
        with torch.inference_mode():
            for start in range(0, len(inputs), batch):
                some = inputs[start : start + batch]
                features[start : start + len(some)] = encode(some).float().cpu().numpy()
                report_progress(work, start + len(some), len(inputs))
        return features


def load_clip_model(folder: Path, device: str) -> ClipModel:
    """Load a CLIP model; nothing is downloaded.

    Args:
        folder: A checkpoint of transformers with its tokenizer, as `CLIPModel.save_pretrained` and
            `CLIPTokenizer.save_pretrained` write them.
        device: PyTorch's name of a device, such as `cpu` or `cuda`. With `cuda`, the model computes with 16
            bits, as in the published code.

    Raises:
        DependencyError: An optional package is missing.
        OptionError: PyTorch can't use the device.
        ResourceError: The folder contains no CLIP model, or it can't be read.
    """
    try:
        import PIL.Image  # noqa: F401 - images need it later.
        import torch
        import transformers
    except ImportError as error:
        raise make_missing_package_error("CLIP models need", error, "clip") from None
    try:
        torch.zeros(1).to(device)
    except Exception as error:
        raise OptionError(f"PyTorch can't use the device {device!r} ({_shorten(error)})") from None
    fingerprint_checkpoint(folder)
    kind = _load(transformers.AutoConfig, folder).model_type
    if kind != "clip":
        raise ResourceError(f"{folder}: the checkpoint must be a CLIP model (got {kind!r})")
    model, found = _load(transformers.CLIPModel, folder, output_loading_info=True)
    missing = [*found["missing_keys"], *found["mismatched_keys"]]
    if missing:
        # transformers has filled them with random numbers.
        raise ResourceError(f"{folder}: the checkpoint lacks {len(missing)} weights, such as {missing[0]}")
    # The flag is about decoding; without it, transformers warns.
    tokenizer = _load(transformers.AutoTokenizer, folder, clean_up_tokenization_spaces=False)
    words = model.config.text_config.vocab_size
    if len(tokenizer) > words:
        raise ResourceError(
            f"{folder}: the tokenizer must be that of the model, which has {words} tokens (got"
            f" {len(tokenizer)})"
        )
    # Lines 128 and 129 of `clipscore.py`: 16 bits on a GPU.
    model = model.half() if device.startswith("cuda") else model.float()
    return ClipModel(model.to(device).eval(), tokenizer, device)


def _load(part: Any, folder: Path, **options: Any) -> Any:
    """Load a part of a checkpoint by a class of transformers."""
    try:
        return part.from_pretrained(folder, local_files_only=True, **options)
    except Exception as error:
        raise ResourceError(f"{folder}: the checkpoint can't be read ({_shorten(error)})") from None


def fingerprint_checkpoint(folder: Path) -> str:
    """Return the name of a folder and the start of a digest of its weights, for signatures.

    Raises:
        ResourceError: The folder contains no weights.
    """
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not weights:
        problem = "no weights in" if folder.is_dir() else "there is no folder"
        raise ResourceError(
            f"{problem} {folder}: the checkpoint must be a folder with a CLIP model of transformers, such as"
            " a copy of openai/clip-vit-base-patch32"
        )
    each = [fingerprint_file(file) for file in weights]
    digest = each[0].rpartition("-")[2]
    if len(each) > 1:
        import hashlib

        digest = hashlib.sha256("\n".join(each).encode()).hexdigest()[:8]
    return f"{folder.resolve().name}-{digest}"


def prepare_image(image: Image, size: int) -> NDArray[np.float32]:
    """Return the normalized colors of the center of an image.

    Lines 89 to 95 of `clipscore.py`: the shorter side is reduced to `size` with bicubic interpolation, then
    the center is cropped.

    Returns:
        Red, green and blue, of shape `(3, size, size)`.
    """
    from PIL.Image import Resampling

    width, height = image.size
    shorter = min(width, height)
    width, height = (int(size * side / shorter) for side in (width, height))
    left, top = (round((side - size) / 2) for side in (width, height))
    resized = image.resize((width, height), Resampling.BICUBIC)
    cropped = resized.crop((left, top, left + size, top + size)).convert("RGB")
    colors = np.asarray(cropped, dtype=np.float32) / np.float32(255)
    return ((colors - _MEANS) / _DEVIATIONS).transpose(2, 0, 1)


def _read_image(file: Path, size: int) -> NDArray[np.float32]:
    from PIL import Image

    try:
        with Image.open(file) as image:
            return prepare_image(image, size)
    except (FileNotFoundError, PermissionError):
        raise
    except (Image.DecompressionBombError, EOFError, OSError, SyntaxError, ValueError) as error:
        message = f"the file must be an image that can be read ({_shorten(error)})"
        raise FormatError(message, kind=FormatErrorKind.DAMAGED, path=file) from None


def _shorten(error: Exception) -> str:
    """Return the first line of an error's text."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
