"""A world of your own that is made by a function: a corridor with a toll on the way.

monmdp solve examples.my_world:toll_road ask length=6 toll=-0.5
"""

from monmdp import MDP


def toll_road(*, length: int = 5, toll: float = -0.2, seen: bool = True) -> MDP:
    """Walk right to the end, which pays 1; the toll in the middle may be one that nobody sees."""
    left, right, middle = 0, 1, length // 2
    outcomes = []  # (state, action, next state, chance, reward, ends, hidden)
    for state in range(length):
        outcomes.append((state, left, max(state - 1, 0), 1.0, 0.0, False, False))
        ends = state == length - 1
        reward = 1.0 if ends else toll if state == middle else 0.0
        hidden = state == middle and not seen
        outcomes.append((state, right, state if ends else state + 1, 1.0, reward, ends, hidden))
    return MDP.from_outcomes(
        outcomes, name="toll-road", n_states=length, n_actions=2,
        start=[1.0] + [0.0] * (length - 1), action_labels=("LEFT", "RIGHT"), time_limit=50,
    )  # fmt: skip
