"""Word prediction agreement (COCO Captions, section 4.2, Table II and Figure 3)."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.words.compute import ClassMeans as ClassMeans
    from capeval.studies.words.compute import SystemAgreement as SystemAgreement
    from capeval.studies.words.compute import SystemMeans as SystemMeans
    from capeval.studies.words.compute import WordAgreement as WordAgreement
    from capeval.studies.words.compute import WordCounts as WordCounts
    from capeval.studies.words.compute import WordStudy as WordStudy
    from capeval.studies.words.compute import class_means as class_means
    from capeval.studies.words.compute import coco_word_classes as coco_word_classes
    from capeval.studies.words.compute import human_agreement as human_agreement
    from capeval.studies.words.compute import model_precision as model_precision
    from capeval.studies.words.compute import precision_at_recall as precision_at_recall
    from capeval.studies.words.compute import study_words as study_words
    from capeval.studies.words.compute import system_means as system_means
    from capeval.studies.words.compute import word_counts as word_counts
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.words.compute")
