"""Models, what is asked of them, and the same asked of Storm.

python tests/worlds/storm_models.py, where stormpy is installed, writes the files of the small ones
and data/values.json anew. The models, in the language of PRISM, are ours, under monmdp's licence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conftest import ROOT
from monmdp import make, planning, worlds

DATA = Path(__file__).parent / "data"
EXAMPLES = ROOT / "examples"
VALUES = DATA / "values.json"
LARGE = "robot"
"""a model of more than 10⁵ states, too large to be kept"""


def file_of(model: str, suffix: str = ".umb") -> Path:
    """Where a model is kept: one of them is an example for everybody."""
    return (EXAMPLES if model == "dice" else DATA) / f"{model}{suffix}"


class Question(NamedTuple):
    model: str
    formula: str
    """in Storm's words"""
    params: dict[str, Any]
    """the same in ours"""
    gamma: float = 1.0

    def __str__(self) -> str:
        return f"{self.model} {self.formula}"


def _rewards(model, reward, label, *ways):
    """Rewards, or costs, until a label."""
    for way in ways:
        params = {"reward": reward, "terminal": label, "minimise": way == "min"}
        yield Question(model, f'R{{"{reward}"}}{way}=? [F "{label}"]', params)


def _chances(model, label, over):
    """Probabilities of reaching a label where episodes end anyway."""
    for way in ("max", "min"):
        params = {"reach": label, "terminal": over, "minimise": way == "min"}
        yield Question(model, f'P{way}=? [F "{label}"]', params)


def _discounted(model, reward, gamma):
    """Discounted rewards for ever."""
    for way in ("max", "min"):
        params = {"reward": reward, "minimise": way == "min"}
        yield Question(model, f'R{{"{reward}"}}{way}=? [Cdiscount={gamma}]', params, gamma)


QUESTIONS = [
    *_rewards("dice", "tosses", "done", "max", "min"),
    *_chances("dice", "six", "done"),
    *_discounted("dice", "tosses", 0.9),
    *_rewards("coin", "steps", "agreed", "max", "min"),
    *_rewards("coin", "tosses", "agreed", "max", "min"),
    *_chances("coin", "ones", "agreed"),
    *_discounted("coin", "steps", 0.97),
    *_rewards("ring", "moves", "stable", "max", "min"),
    *_discounted("ring", "moves", 0.9),
    *_rewards("backoff", "time", "sent", "max", "min"),
    *_chances("backoff", "first", "sent"),
    *_discounted("backoff", "time", 0.99),
    Question("herman", 'R{"steps"}=? [F "stable"]', {"reward": "steps", "terminal": "stable"}),
    next(_chances(LARGE, "home", "over")),
    *_rewards(LARGE, "coins", "over", "max"),
    *_discounted(LARGE, "coins", 0.9),
]
SMALL = [of for of in QUESTIONS if of.model != LARGE]


def ours(question: Question, path: Path) -> np.ndarray:
    """[state] the values that monmdp finds."""
    world = worlds.from_umb(path, **question.params)
    found = planning.optimal(make(world, "full"), question.gamma, tol=1e-9)
    assert found.converged
    return -found.values if question.params.get("minimise") else found.values


def built(model: str) -> Any:
    """A model as Storm builds it from the language of PRISM."""
    import stormpy

    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    options.set_build_state_valuations()
    program = stormpy.parse_prism_program(str(file_of(model, ".prism")))
    return stormpy.build_model(program, options=options)


def storms(model: Any, formula: str) -> np.ndarray:
    """[state] the values that Storm finds, soundly, to 1e-9."""
    import stormpy
    from stormpy import environments

    environment = environments.sound()
    for solver in (environment.solver().min_max(), environment.solver().native()):
        solver.precision = stormpy.Rational(1e-10)
    (asked,) = stormpy.parse_properties(formula)
    result = stormpy.model_checking(model, asked, environment=environment)
    return np.array(result.get_value_vector())


def main() -> None:
    """Write the data."""
    import stormpy.io

    values = {}
    for name in sorted({of.model for of in SMALL}):
        model = built(name)
        stormpy.io.export_to_umb(model, file_of(name))
        for of in SMALL:
            if of.model == name:
                values[str(of)] = float(storms(model, of.formula)[model.initial_states[0]])
    VALUES.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
