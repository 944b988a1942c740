"""Region features in HDF5 files of the published layout, read image by image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from capeval.errors import FormatError, FormatErrorKind, MismatchError
from capeval.errors.messages import format_images, format_names, shorten
from capeval.toolkit import make_missing_package_error

__all__ = ["FeatureFile", "pad_features"]

Floats = NDArray[np.float32]

# Tolerance: detectors write the last pixel of an image as its width or as one less, and round.
_TOLERANCE = 1.0


class FeatureFile:
    """A feature file, such as the ones published with nocaps.

    The file contains the datasets `image_id`, `num_boxes` and `features`, with one entry per image. An entry
    of `features` is flat (all regions concatenated) or a table with one row per region. Optional datasets are
    `boxes` (X1, Y1, X2, Y2 of each region), `width` and `height` of the image, and the `classes` and `scores`
    of the regions.

    Features are read on demand. Close the file, or use it in a `with` statement.

    Args:
        path: Path of the file.
        width: Feature dimension that the model expects; None to use the dimension of the first image.

    Raises:
        FormatError: The file has a different layout; the error names the dataset.
        DependencyError: h5py is not installed.
        OSError: The file can't be read.

    Example:
        >>> import h5py
        >>> from capeval_decoding.baselines.features import FeatureFile
        >>> with h5py.File("features.h5", "w") as file:
        ...     file["image_id"], file["num_boxes"], file["features"] = [7], [2], [[0.5, 1.0, 0.25, 0.0]]
        >>> with FeatureFile("features.h5") as file:
        ...     print(file.image_ids, file.width, file.features(7).tolist())
        (7,) 2 [[0.5, 1.0], [0.25, 0.0]]
    """

    def __init__(self, path: str | Path, *, width: int | None = None) -> None:
        try:
            import h5py
        except ImportError as error:
            raise make_missing_package_error("features need", error) from None
        self.path = Path(path)
        with self.path.open("rb"):
            pass  # Raises the system's error if the file is missing or unreadable.
        try:
            self._file = h5py.File(self.path, "r")
        except OSError:
            raise self._make_error(
                "must be a complete HDF5 file", "another or damaged file", kind=FormatErrorKind.DAMAGED
            ) from None
        try:
            self._positions = self._read_positions()
            self.image_ids: tuple[int, ...] = tuple(self._positions)
            self.width = self._read_features(self.image_ids[0], width).shape[1]
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        return len(self.image_ids)

    def require(self, images: Sequence[int | str]) -> None:
        """Check that the file contains all of the given images.

        Raises:
            MismatchError: An image is missing.
        """
        missing = [image for image in images if image not in self._positions]
        if missing:
            raise MismatchError(f"{self.path}: {format_images(missing)} without features")

    def features(self, image: int) -> Floats:
        """Return the features of an image, one row per region.

        Raises:
            FormatError: The features have the wrong dimension, or a value that is not finite.
            MismatchError: The image is not in the file.
        """
        return self._read_features(image, self.width)

    def boxes(self, image: int) -> Floats:
        """Return the boxes of an image, one row per region: X1, Y1, X2, Y2 in pixels.

        Raises:
            FormatError: The file has no boxes, or a box is outside of the image or has its corners in the
                wrong order.
            MismatchError: The image is not in the file.
        """
        boxes = self._read_rows("boxes", image, 4)
        width, height = self.size(image)
        most = np.array([width, height, width, height]) + _TOLERANCE
        for region, box in enumerate(boxes):
            if not (np.isfinite(box).all() and (box[:2] <= box[2:]).all()):
                raise self._make_box_error(image, region, box, "X1 <= X2 and Y1 <= Y2")
            if not ((box >= -_TOLERANCE).all() and (box <= most).all()):
                raise self._make_box_error(image, region, box, f"inside of the image of {width} x {height}")
        return boxes

    def size(self, image: int) -> tuple[int, int]:
        """Return the width and height of an image, in pixels."""
        self.require([image])
        sizes = [int(self._get_dataset(name)[self._positions[image]]) for name in ("width", "height")]
        return sizes[0], sizes[1]

    def classes(self, image: int) -> NDArray[np.int64]:
        """Return the class indices of an image's regions."""
        return self._read_rows("classes", image, 1)[:, 0].astype(np.int64)

    def scores(self, image: int) -> Floats:
        """Return the confidence of an image's regions.

        It is 1 if the file has no scores, as for ground truth.
        """
        if "scores" not in self._file:
            self.require([image])
            return np.ones(self._boxes[self._positions[image]], dtype=np.float32)
        return self._read_rows("scores", image, 1)[:, 0]

    def _read_positions(self) -> dict[int, int]:
        images = self._get_dataset("image_id")
        if images.dtype.kind not in "iu" or images.ndim != 1 or not len(images):
            found = f"{images.dtype} of {images.shape}"
            raise self._make_error("'image_id' must contain one integer per image, and at least one", found)
        for name in ("num_boxes", "features"):
            if len(self._get_dataset(name)) != len(images):
                expected = f"{name!r} must have one entry for each of the {len(images):,} images"
                raise self._make_error(
                    expected, f"{len(self._get_dataset(name)):,}", kind=FormatErrorKind.WRONG_LENGTH
                )
        numbers: dict[int, int] = {}
        for number, image in enumerate(images[:].tolist()):
            if image in numbers:
                raise self._make_error(
                    "'image_id' must contain each image once",
                    f"{image} again",
                    kind=FormatErrorKind.DUPLICATE_IMAGE,
                )
            numbers[image] = number
        self._boxes = self._get_dataset("num_boxes")[:].tolist()
        return numbers

    def _get_dataset(self, name: str) -> Any:
        if name not in self._file:
            raise self._make_error(
                f"the file must contain the dataset {name!r}",
                format_names(list(self._file)),
                kind=FormatErrorKind.MISSING,
            )
        return self._file[name]

    def _read_features(self, image: int, width: int | None) -> Floats:
        rows = self._read_rows("features", image, width)
        if not np.isfinite(rows).all():
            region = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            number = rows[region][~np.isfinite(rows[region])][0]
            expected = f"'features' of image {image}, region {region}, must be finite numbers"
            raise self._make_error(expected, f"{number}", kind=FormatErrorKind.WRONG_VALUE)
        return rows

    def _read_rows(self, name: str, image: int, width: int | None) -> Floats:
        """Return an entry of a dataset, one row per region."""
        self.require([image])
        number = self._positions[image]
        entry, regions = np.asarray(self._get_dataset(name)[number]), self._boxes[number]
        if regions < 1:
            raise self._make_error(f"'num_boxes' of image {image} must be at least 1", str(regions))
        if entry.ndim == 2:
            entry = entry[:regions]  # The remaining rows are padding.
        numbers = regions * (width or max(entry.size // regions, 1))
        if entry.dtype.kind not in "fiu" or entry.size != numbers:
            per_region = f"{width} numbers" if width else "the same number of numbers"
            raise self._make_error(
                f"{name!r} of image {image} must have {per_region} for each of its {regions} regions",
                f"{entry.size} of type {entry.dtype}" + f", which is {entry.size / regions:g} per region",
                kind=FormatErrorKind.WRONG_LENGTH,
            )
        return np.asarray(entry.reshape(regions, -1), dtype=np.float32)

    def _make_box_error(self, image: int, region: int, box: Floats, expected: str) -> FormatError:
        return self._make_error(
            f"'boxes' of image {image}, region {region}, must be X1, Y1, X2, Y2 with {expected}",
            shorten(box.tolist()),
            kind=FormatErrorKind.WRONG_VALUE,
        )

    def _make_error(
        self, expected: str, found: str, kind: FormatErrorKind = FormatErrorKind.WRONG_TYPE
    ) -> FormatError:
        return FormatError(f"{expected} (got {found})", kind=kind, path=self.path)


def pad_features(features: Sequence[Floats]) -> Floats:
    """Stack the features of images into one array, padded with all-zero regions.

    Example:
        >>> import numpy as np
        >>> from capeval_decoding.baselines.features import pad_features
        >>> two_regions, one_region = np.array([[1, 2], [3, 4]]), np.array([[5, 6]])
        >>> pad_features([two_regions, one_region]).tolist()
        [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [0.0, 0.0]]]
    """
    most = max(len(each) for each in features)
    together = np.zeros((len(features), most, features[0].shape[1]), dtype=np.float32)
    for row, each in enumerate(features):
        together[row, : len(each)] = each
    return together
