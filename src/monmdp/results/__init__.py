"""Results: runs on disk, the runner, what they say, figures and claims."""

from monmdp.results.claims import Claim, check_claims
from monmdp.results.evidence import Aggregate, Evidence, gather
from monmdp.results.publish import Publication, publish
from monmdp.results.runner import Outcome, Progress, execute
from monmdp.results.store import Shard, load_results

__all__ = [
    "Aggregate",
    "Claim",
    "Evidence",
    "Outcome",
    "Progress",
    "Publication",
    "Shard",
    "check_claims",
    "execute",
    "gather",
    "load_results",
    "publish",
]
