"""References in which studies count document frequencies."""

from __future__ import annotations

from typing import Literal

__all__ = ["FrequencySource"]

# References in which CIDEr counts: once for each rated caption, or once for each image.
FrequencySource = Literal["ratings", "references"]
