"""One call for all of it: `evaluate`, and the `Evaluation` that it gives."""

from .call import evaluate
from .result import Evaluation
from .warning_kinds import EvaluationWarning

__all__ = ["Evaluation", "EvaluationWarning", "evaluate"]
