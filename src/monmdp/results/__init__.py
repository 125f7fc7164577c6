"""Results: runs on disk, the runner, what they say, figures and claims."""

from monmdp.results.benchmarking import Bench
from monmdp.results.claims import JudgedClaim, check_claims
from monmdp.results.comparison import Comparison
from monmdp.results.evidence import Aggregate, Evidence, gather
from monmdp.results.publish import Publication, publish
from monmdp.results.references import Reference
from monmdp.results.runner import Outcome, Progress, execute
from monmdp.results.store import load_policy, load_results, load_run

__all__ = [
    "Aggregate",
    "Bench",
    "Comparison",
    "Evidence",
    "JudgedClaim",
    "Outcome",
    "Progress",
    "Publication",
    "Reference",
    "check_claims",
    "execute",
    "gather",
    "load_policy",
    "load_results",
    "load_run",
    "publish",
]
