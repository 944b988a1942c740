"""Human judgments of systems: the five questions of the 2015 challenge, ratings, wins."""

from typing import TYPE_CHECKING

from capeval._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from capeval.studies.judging.compute import HUMAN as HUMAN
    from capeval.studies.judging.compute import QUESTIONS as QUESTIONS
    from capeval.studies.judging.compute import RANDOM as RANDOM
    from capeval.studies.judging.compute import HumanColumn as HumanColumn
    from capeval.studies.judging.compute import HumanRow as HumanRow
    from capeval.studies.judging.compute import Question as Question
    from capeval.studies.judging.compute import Standing as Standing
    from capeval.studies.judging.compute import human_scores as human_scores
    from capeval.studies.judging.compute import judge as judge
    from capeval.studies.judging.compute import leaderboard_points as leaderboard_points
    from capeval.studies.judging.compute import thumb_score as thumb_score
else:
    __getattr__ = lazy_exports(__name__, "capeval.studies.judging.compute")
