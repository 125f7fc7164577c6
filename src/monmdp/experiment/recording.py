"""Judgements now and then, while a policy learns: for loops of any kind."""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.experiment.live import live_curves
from monmdp.model.mdp import whole_number

if TYPE_CHECKING:
    import pandas as pd

    from monmdp.agents import Transition
    from monmdp.experiment.judging import Judge, Judgement
    from monmdp.model.arrays import FloatArray


class Record:
    """Judges a policy when it is due, and keeps the numbers; `Judge.record` makes one.

    >>> import monmdp
    >>> from monmdp.experiment import Judge
    >>> problem = monmdp.make("loop", "ask")
    >>> record = Judge(problem).record(every=100)
    >>> for step in range(250):  # a loop that learns
    ...     judged = record(step, monmdp.Policy.uniform(problem))
    >>> record.frame()[["step", "worst_case_return", "gap"]].round(4).values.tolist()
    [[0.0, -3.7325, 4.6931], [100.0, -3.7325, 4.6931], [200.0, -3.7325, 4.6931]]

    Attributes:
        judge: what judges.
        every: steps between two judgements, at least.
        last: the latest judgement; None before the first.
    """

    def __init__(
        self, judge: Judge, every: int = 1000, *, tensorboard: str | os.PathLike[str] | None = None
    ) -> None:
        """Begin an empty record.

        Args:
            judge: what judges.
            every: steps between two judgements, at least.
            tensorboard: folder for live curves; what an earlier record left there is replaced.
        """
        self.judge = judge
        self.every = whole_number(every, "every", at_least=1)
        self.last: Judgement | None = None
        self._rows: list[dict[str, float | int | None]] = []
        self._open = ExitStack()
        folder = None if tensorboard is None else Path(tensorboard)
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise MonMDPError(
                    f"cannot write into {folder}: {error.strerror or error}"
                ) from None
        self._watch = self._open.enter_context(live_curves(folder))
        weakref.finalize(self, self._open.close)  # few loops tell when they are over

    def due(self, step: int) -> bool:
        """Return whether a policy would be judged at this step."""
        return not self._rows or step - self._latest >= self.every

    @property
    def _latest(self) -> int:
        return int(self._rows[-1]["step"] or 0)

    def __call__(
        self, step: int, policy: Any, values: Any = None, *, now: bool = False, **options: Any
    ) -> Judgement | None:
        """Judge the policy if it is due; the other arguments are those of a `Judge`.

        It is due at the first step that is given, and when `every` steps have passed since. A
        function is not called before. With ``now=True`` it is judged in any case, and an earlier
        judgement of the same step is replaced: training may have gone on since.
        """
        step = whole_number(step, "step", at_least=0, at_most=None)
        if self._rows and step < self._latest:
            raise MonMDPError(f"step {step} comes after step {self._latest}; steps never go back")
        if not now and not self.due(step):
            return None
        self.last = judged = self.judge(policy, values, **options)
        numbers = judged.to_dict()
        if self._rows and step == self._latest:
            self._rows.pop()
        self._rows.append({"step": step, **numbers})
        if self._watch is not None:
            found = {k: np.array([v], np.float64) for k, v in numbers.items() if v is not None}
            self._watch(np.array([step]), found)
        return judged

    def frame(self) -> pd.DataFrame:
        """Return a row for each judgement: step, returns, gap, ⊥, bias and so on."""
        import pandas as pd

        names = list(self._rows[0]) if self._rows else ["step"]
        return pd.DataFrame(self._rows, columns=names).astype(
            {name: np.float64 for name in names if name != "step"}
        )

    def watching(self, agent: Any) -> Watched:
        """Return an agent in plain Python that is judged while `monmdp.train` trains it.

        It does what the given one does; every so often its `test_policy` is judged, and its
        `values`, if it has that method.
        """
        return Watched(agent, self)

    def close(self) -> None:
        """Close the file of live curves; the numbers stay."""
        self._open.close()
        self._watch = None

    def __enter__(self) -> Record:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class Watched:
    """An agent in plain Python with a record beside it, which cannot change what it does."""

    def __init__(self, agent: Any, record: Record) -> None:
        from monmdp.agents import is_python_agent

        if not is_python_agent(agent):
            raise MonMDPError(
                f"watching takes an agent in plain Python, made already, with begin_episode, act, "
                f"update and test_policy; got {agent!r:.60}. Compiled agents keep snapshots: judge "
                "their run with values=run.snapshots[…]"
            )
        self.agent, self.record, self._steps = agent, record, 0
        if hasattr(agent, "sees"):
            self.sees = agent.sees
        if hasattr(agent, "gamma"):
            self.gamma = agent.gamma

    def begin_episode(self) -> object:
        """Prepare an episode."""
        if self._steps == 0:
            self.record(0, self.agent)
        return self.agent.begin_episode()

    def act(self, observation: Any) -> Any:
        """Choose an action."""
        return self.agent.act(observation)

    def update(self, transition: Transition) -> None:
        """Learn from one step, and be judged if it is due."""
        self.agent.update(transition)
        self._steps += 1
        self.record(self._steps, self.agent)

    def test_policy(self, *observations: Any) -> FloatArray:
        """Return the policy to test now."""
        policy: FloatArray = self.agent.test_policy(*observations)
        return policy
