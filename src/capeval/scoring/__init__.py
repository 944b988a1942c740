"""Evaluators, reports, bootstrap intervals and paired tests."""

from capeval.scoring.evaluator import Evaluator, Subsets, evaluate, list_problems
from capeval.scoring.report import Report

__all__ = ["Evaluator", "Report", "Subsets", "evaluate", "list_problems"]
