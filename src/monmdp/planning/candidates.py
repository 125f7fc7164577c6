"""What can be made visible, and what it costs: candidates as people name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError, nearest
from monmdp.model.arrays import BoolArray, FloatArray
from monmdp.model.mdp import MDP, number

KINDS = ("pair", "state")
OTHERS = "*"
"""in a mapping: whatever has no entry of its own"""


def members_of(
    mdp: MDP, hidden: BoolArray, by: str, groups: Mapping[str, Sequence[Any]] | None
) -> dict[str, BoolArray]:
    """Return name -> [sᵉ, aᵉ] the hidden pairs of each candidate."""
    if by not in KINDS:
        raise MonMDPError(f"unknown by {by!r}{nearest(str(by), KINDS)}")
    if groups is not None:
        if not isinstance(groups, Mapping):
            raise MonMDPError(f"groups: {{name: [members]}} expected, got {groups!r}")
        if not groups:
            raise MonMDPError("groups: there is none; {name: [members]} expected")
        return {str(name): _group(mdp, hidden, str(name), of) for name, of in groups.items()}
    made: dict[str, BoolArray] = {}
    for s, a in np.argwhere(hidden):
        label = mdp.state_labels[s]
        name = f"{label}:{mdp.action_labels[a]}" if by == "pair" else label
        made.setdefault(name, np.zeros_like(hidden))[s, a] = True
    return made


def _group(mdp: MDP, hidden: BoolArray, name: str, members: Any) -> BoolArray:
    """[sᵉ, aᵉ] the hidden pairs of a group."""
    if isinstance(members, str) or not isinstance(members, Sequence) or not members:
        raise MonMDPError(f"group {name!r}: a list of pairs or states expected, got {members!r}")
    mask = np.zeros_like(hidden)
    for member in members:
        of = pairs_of(mdp, member, {}, f"group {name!r}:")
        if not (of & hidden).any():
            raise MonMDPError(
                f"group {name!r}: nothing of {member!r} is hidden; its rewards can be seen already,"
                " or it can never be reached"
            )
        mask |= of & hidden
    return mask


def costs_of(members: Mapping[str, BoolArray], cost: float | Mapping[str, float]) -> FloatArray:
    """Return [candidate] what each costs."""
    given = dict(cost) if isinstance(cost, Mapping) else {OTHERS: cost}
    for name in given:
        if name != OTHERS and name not in members:
            raise MonMDPError(f"cost: no candidate is named {name!r}{nearest(str(name), members)}")
    found = np.zeros(len(members))
    for i, name in enumerate(members):
        if name not in given and OTHERS not in given:
            raise MonMDPError(
                f"cost: none is given for {name!r}; {OTHERS!r} stands for all without an entry"
            )
        found[i] = number(given.get(name, given.get(OTHERS)), f"cost of {name!r}")
        if found[i] < 0:
            raise MonMDPError(f"cost of {name!r} must not be negative, got {found[i]:g}")
    return found


def pairs_of(mdp: MDP, key: Any, named: Mapping[str, BoolArray], what: str) -> BoolArray:
    """Return [sᵉ, aᵉ] the pairs that a name, a state, a pair or ``STATE:ACTION`` stands for."""
    if isinstance(key, str) and key in named:
        return named[key]
    mask = np.zeros((mdp.n_states, mdp.n_actions), dtype=np.bool_)
    if isinstance(key, str) and ":" in key and key not in mdp.state_labels:
        mask[mdp.parse_pair(key, what)] = True
    elif isinstance(key, Sequence) and not isinstance(key, str):
        mask[mdp.find_pair(key, what)] = True
    else:
        try:
            mask[mdp.find_state(key)] = True
        except MonMDPError as error:
            raise MonMDPError(f"{what} {key!r}: {error}") from None
    return mask
