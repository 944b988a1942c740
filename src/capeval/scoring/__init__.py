"""Evaluators, reports, bootstrap intervals and paired tests."""

from capeval.scoring.evaluator import Evaluator, Subsets, evaluate
from capeval.scoring.matching import Matching, list_problems, match_captions
from capeval.scoring.report import Report

__all__ = ["Evaluator", "Matching", "Report", "Subsets", "evaluate", "list_problems", "match_captions"]
