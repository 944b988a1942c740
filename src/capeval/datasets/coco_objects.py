"""Objects in images, from COCO's instance annotations."""

from capeval.formats.coco_objects import Objects, load_coco_objects

__all__ = ["Objects", "load_coco_objects"]
