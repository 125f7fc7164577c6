"""Factored MBIE-EB: imagine the best plausible policy, look at what it has not seen on its way."""

from monmdp.agents.factored_mbie_eb.agent import FactoredMBIEEB

__all__ = ["FactoredMBIEEB"]
