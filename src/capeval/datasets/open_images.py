"""Open Images files: boxes, image rotations, class names and the class hierarchy."""

from capeval.formats.open_images_files import (
    ObjectAnnotations,
    load_boxes,
    load_class_hierarchy,
    load_class_names,
    load_image_sources,
    load_parts,
    load_rotations,
    subcategories,
)

__all__ = [
    "ObjectAnnotations",
    "load_boxes",
    "load_class_hierarchy",
    "load_class_names",
    "load_image_sources",
    "load_parts",
    "load_rotations",
    "subcategories",
]
