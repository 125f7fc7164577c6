"""Claims as data of a suite: what they may say, and what is wrong with those that do not."""

import json
from pathlib import Path

import pytest

from monmdp import MonMDPError, suites
from monmdp.results.request import ask_suite, keep, kept
from monmdp.suites.claims import CHECKS, Claim, Sentence, Setting, checked

OURS, RIVAL = "monitored-mbie-eb", "directed-e2"
BLOCKS = [
    {"title": "Loops", "worlds": ["loop", "empty"], "monitors": ["ask", "button"],
     "agents": [OURS, RIVAL]},
    {"title": "By chance", "worlds": ["loop"], "monitors": ["ask"], "rho": [0.8, 0.2],
     "agents": [OURS, {"name": RIVAL, "label": "pessimist", "r0": -10},
                {"name": RIVAL, "label": "optimist", "r0": 10}]},
]  # fmt: skip
ENDS = {"says": "it learns", "check": "ends-at", "agent": OURS}
BETTER = {"says": "it is faster", "check": "better", "agent": OURS, "rival": RIVAL,
          "where": {"block": "Loops"}}  # fmt: skip


def suite(*sentences, blocks=None, **more):
    content = {
        "name": "mine",
        "experiment": BLOCKS if blocks is None else blocks,
        "claim": [{"name": "M1", "about": "mine", "sentence": list(sentences)}],
        **more,
    }
    return suites.parse(content, "mine.toml")


def only_of(found):
    """The one sentence of a suite."""
    ((sentence,),) = [claim.sentence for claim in found.claim]
    return sentence


# ---- what is meant --------------------------------------------------------------------------


@pytest.mark.parametrize(("where", "of"), [
    ({}, 6), ({"world": "loop"}, 4), ({"world": ["loop", "empty"]}, 6), ({"monitor": "button"}, 2),
    ({"block": "By chance"}, 2), ({"rho": 1}, 4), ({"rho": [0.8, 1.0]}, 5), ({"rho": 0.2}, 1),
    ({"monitor.rho": 0.2}, 1), ({"world": "loop", "monitor": "ask", "rho": 1.0}, 1),
])  # fmt: skip
def test_settings_are_addressed_by_what_they_are(where, of):
    sentence = only_of(suite(ENDS | {"where": where}))
    assert sentence.of == of


def test_short_forms_and_defaults():
    sentence = only_of(suite(ENDS | {"where": {"rho": 0.2}}))
    assert sentence.where == {"rho": (0.2,)}
    assert (sentence.score, sentence.value, sentence.height) == ("episode_return", "v", None)
    assert sentence.agents == (OURS,)
    assert only_of(suite(BETTER)).agents == (OURS, RIVAL)
    similar = ENDS | {"check": "similar-along", "along": {"rho": [0.8, 0.2]}}
    sentence = only_of(suite(similar))
    assert sentence.axis == ("rho", (0.8, 0.2))
    assert (sentence.settings(), sentence.of) == ({"rho": (0.8, 0.2)}, 2)


def test_explicit_defaults_are_as_good_as_others():
    """Also where a check needs them."""
    assert only_of(suite(ENDS | {"check": "ends-above", "value": "v"})).value == "v"
    falls = ENDS | {"check": "does-not-fall", "score": "episode_return"}
    assert only_of(suite(falls)).score == "episode_return"


def test_panels_that_show_the_same_runs_are_one_setting():
    zoomed = {**BLOCKS[0], "title": "Zoom", "x_range": [0, 300]}
    assert only_of(suite(ENDS, blocks=[BLOCKS[0], zoomed])).of == 4
    # One of them may lack an agent that the other has.
    lacking = {**zoomed, "agents": [OURS]}
    both = BETTER | {"where": {}}
    assert only_of(suite(both, blocks=[BLOCKS[0], lacking])).of == 4


def test_agents_go_by_label_or_by_name():
    assert only_of(suite(BETTER | {"rival": "pessimist", "where": {"block": "By chance"}})).of == 2
    labelled = [{**BLOCKS[0], "agents": [OURS, {"name": RIVAL, "label": "the other"}]}]
    for rival in (RIVAL, "the other"):
        assert only_of(suite(BETTER | {"rival": rival}, blocks=labelled)).of == 4


def test_a_parameter_that_only_some_settings_have():
    blocks = [{**BLOCKS[0], "worlds": [{"name": "bottleneck", "solvable": True}, "bottleneck"]}]
    for solvable in (True, False):
        assert only_of(suite(ENDS | {"where": {"solvable": solvable}}, blocks=blocks)).of == 2
    assert only_of(suite(ENDS | {"where": {"world.solvable": True}}, blocks=blocks)).of == 2


def test_settings():
    setting = Setting("Loops", "loop", "ask", {"monitor.rho": 0.2, "world.solvable": True})
    assert [setting[key] for key in ("block", "world", "monitor", "rho", "solvable", "n")] == [
        "Loops", "loop", "ask", 0.2, True, False,
    ]  # fmt: skip
    assert setting.is_among({})
    assert setting.is_among({"rho": (0.8, 0.2), "world": ("loop",)})
    assert not setting.is_among({"rho": (0.8,), "world": ("loop",)})
    assert Setting("", "loop", "ask", {})["rho"] == 1.0


def test_of_is_kept_if_it_is_said():
    assert only_of(suite(BETTER | {"at_least": 3, "of": 48})).of == 48
    assert only_of(suite(BETTER | {"of": 4})).of == 4
    quick = suites.paper_suite("figure-6").adapted(quick=True)
    assert [of.of for of in quick.claim[0].sentence] == [48, 48]
    assert quick.claim == suites.paper_suite("figure-6").claim


def test_claims_of_all_suites_of_the_package_are_sound():
    names = {}
    for name in suites.paper_suites():
        names |= dict.fromkeys((claim.name for claim in suites.paper_suite(name).claim), name)
    assert sorted(names) == [f"C{n}" for n in range(1, 10)]
    beyond = suites.bundled_suite("beyond")
    assert [claim.name for claim in beyond.claim] == [f"B{n}" for n in (1, 2, 3, 4, 6, 7, 8)]
    assert [of.of for of in beyond.claim[0].sentence] == [24] * 3


def test_numbers_of_settings_that_the_paper_speaks_of():
    found = {}
    for name in suites.paper_suites():
        for claim in suites.paper_suite(name).claim:
            found.setdefault(claim.name, []).extend(of.of for of in claim.sentence)
    assert found == {
        "C1": [1, 1], "C2": [2, 2, 2, 2], "C3": [1], "C4": [48, 48], "C5": [1] * 7,
        "C6": [6, 4, 2], "C7": [18, 18, 18, 12], "C8": [24, 24, 8, 24], "C9": [6, 6, 6, 12, 6],
    }  # fmt: skip


# ---- mistakes -------------------------------------------------------------------------------

ALONG = {"check": "worse-along", "along": {"rho": [0.8, 0.2]}}
WRONG = {
    "unknown check": (ENDS | {"check": "end-at"}, "no 'end-at'; did you mean 'ends-at'?"),
    "no check": ({"says": "x", "agent": OURS}, ".check: is missing"),
    "no agent": ({"says": "x", "check": "ends-at"}, ".agent: is missing"),
    "unknown key": (ENDS | {"hight": 1}, ".hight: no such key; did you mean 'height'?"),
    "no rival": (ENDS | {"check": "better"}, "check 'better' needs rival"),
    "no share": (BETTER | {"check": "fewer-steps"}, "check 'fewer-steps' needs share"),
    "no value": (ENDS | {"check": "starts-above"}, "check 'starts-above' needs value"),
    "no score": (ENDS | {"check": "does-not-fall"}, "check 'does-not-fall' needs score"),
    "nothing": (ENDS | {"check": "hindered-more"}, "check 'hindered-more' needs rival, along"),
    "foreign": (ENDS | {"share": 0.3}, "check 'ends-at' does not take share"),
    "foreign rival": (ENDS | {"rival": RIVAL}, "check 'ends-at' does not take rival"),
    "foreign default": (ENDS | {"factor": 1.5}, "check 'ends-at' does not take factor"),
    "foreign along": (BETTER | {"along": {"rho": [1, 2]}}, "check 'better' does not take along"),
    "world": (ENDS | {"where": {"world": "lop"}}, "world = 'lop'; did you mean 'loop'?"),
    "monitor": (ENDS | {"where": {"monitor": "asc"}}, "monitor = 'asc'; did you mean 'ask'?"),
    "rho": (ENDS | {"where": {"rho": 0.3}}, "no setting has rho = 0.3; did you mean '0."),
    "block": (ENDS | {"where": {"block": "loops"}}, "block = 'loops'; did you mean 'Loops'?"),
    "key": (ENDS | {"where": {"wrld": "loop"}}, "settings have no 'wrld'; did you mean 'world'?"),
    "false": (ENDS | {"where": {"solvabel": False}}, "settings have no 'solvabel'"),
    "together": (ENDS | {"where": {"world": "empty", "rho": 0.2}}, "no setting is all of {'world'"),
    "agent": (ENDS | {"agent": "monitored-mbie"}, "no agent 'monitored-mbie'; did you mean"),
    "rival": (BETTER | {"rival": "directed"}, "no agent 'directed'; did you mean 'directed-e2'?"),
    "not everywhere": (ENDS | {"agent": "pessimist"}, "empty / ask has no agent 'pessimist'"),
    "which": (ENDS | {"agent": RIVAL}, "which 'directed-e2'? pessimist, optimist"),
    "of": (BETTER | {"of": 3}, "sentence[0].of: it speaks of 4 settings, not of 3"),
    "of nothing": (BETTER | {"of": 0}, ".of: "),
    "at least": (BETTER | {"at_least": 5}, "at_least: it speaks of 4 settings, not of 5"),
    "along two": (ENDS | {**ALONG, "along": {"rho": [1, 0.2], "world": ["loop", "empty"]}},
                  "along: one key and its values"),
    "along none": (ENDS | {**ALONG, "along": {}}, "along: one key and its values"),
    "along one value": (ENDS | {**ALONG, "along": {"rho": [0.2]}},
                        "claim[0].sentence[0].along.rho: must have 2 entries or more"),
    "along no list": (ENDS | {**ALONG, "along": {"rho": 0.2}}, "along.rho: must be a list"),
    "along unknown": (ENDS | {**ALONG, "along": {"rho": [0.8, 0.1]}}, "no setting has rho = 0.1"),
    "share": (BETTER | {"check": "fewer-steps", "share": 30}, ".share: "),
    "times": (BETTER | {"check": "times-fewer-steps", "times": 0.5}, ".times: "),
    "height": (ENDS | {"height": 0}, ".height: "),
    "factor": (ENDS | {"check": "similar-along", "along": {"rho": [0.8, 0.2]}, "factor": 1},
               ".factor: "),
    "score": (ENDS | {"score": "goals"}, ".score: "),
    "value": (ENDS | {"value": "w"}, ".value: "),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_sentence(name):
    sentence, message = WRONG[name]
    with pytest.raises(MonMDPError) as caught:
        suite(sentence)
    assert message in str(caught.value)
    assert str(caught.value).startswith("mine.toml: ")
    assert "claim" in str(caught.value)


def test_where_the_mistake_is():
    """The claim and the sentence, by number."""
    with pytest.raises(MonMDPError, match=r"claim\[0\].sentence\[1\]: no setting has world"):
        suite(ENDS, ENDS | {"where": {"world": "lop"}})
    with pytest.raises(MonMDPError, match=r"claim\[0\].sentence\[1\]: check 'better' needs rival"):
        suite(ENDS, ENDS | {"check": "better"})


@pytest.mark.parametrize(("claim", "message"), [
    ({"name": "M1", "sentence": []}, "claim[0].sentence: must not be empty"),
    ({"name": "M1"}, "claim[0].sentence: is missing"),
    ({"sentence": [ENDS]}, "claim[0].name: is missing"),
    ({"name": "M1", "sentence": [ENDS], "abut": "x"}, "no such key; did you mean 'about'?"),
])  # fmt: skip
def test_what_is_wrong_with_a_claim(claim, message):
    with pytest.raises(MonMDPError) as caught:
        suites.parse({"name": "mine", "experiment": BLOCKS, "claim": [claim]}, "x")
    assert message in str(caught.value)


def test_claims_speak_of_experiments():
    claim = [{"name": "M1", "sentence": [ENDS]}]
    with pytest.raises(MonMDPError, match="no setting"):
        suites.parse({"name": "mine", "draw": ["loop"], "claim": claim}, "x")


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_takes_its_keys_and_no_others(check):
    some = {"rival": RIVAL, "along": {"rho": [1.0, 0.5]}, "score": "goal_visits", "value": 1.0,
            "height": 2.0, "share": 0.3, "times": 2.0, "factor": 2.0, "at_least": 1,
            "within": 100}  # fmt: skip
    needed, allowed = CHECKS[check]
    fields = {"says": "x", "check": check, "agent": OURS, **{key: some[key] for key in needed}}
    assert Sentence(**fields).check == check
    assert Sentence(**fields, **{key: some[key] for key in allowed}).of is None
    for key in {*some} - {*needed, *allowed}:
        with pytest.raises(ValueError, match=f"does not take {key}"):
            Sentence(**fields, **{key: some[key]})
    for key in needed:
        with pytest.raises(ValueError, match=f"needs {key}"):
            Sentence(**{k: v for k, v in fields.items() if k != key})


def test_checked_needs_no_suite():
    settings = [(Setting("", "loop", m, {}), [("a", "A"), ("b", "b")]) for m in ("ask", "button")]
    claim = Claim(name="M1", sentence=(Sentence(says="", check="ends-at", agent="A"),))
    (found,) = checked([claim], settings)
    assert found.sentence[0].of == 2
    assert claim.sentence[0].of is None


# ---- a suite of one's own -------------------------------------------------------------------

MINE = """
name = "mine"
steps = 400
every = 100
seeds = 5
quick = { seeds = 2 }

[[experiment]]
worlds = ["loop", "empty"]
monitors = ["full"]
agents = ["monitored-mbie-eb", "r-max"]
y_range = [0, 1]
quick = { worlds = ["loop"] }

[[claim]]
name = "M1"
about = "two worlds"

[[claim.sentence]]
says = "it is faster in both"
check = "better"
agent = "monitored-mbie-eb"
rival = "r-max"

[[claim.sentence]]
says = "it takes a tenth"
check = "fewer-steps"
agent = "monitored-mbie-eb"
rival = "r-max"
share = 0.9

[[claim]]
name = "M2"

[[claim.sentence]]
says = "it is no worse than bad"
check = "ends-above"
agent = "monitored-mbie-eb"
value = -50.0
"""


@pytest.mark.slow
def test_a_suite_with_claims_of_its_own_is_judged(command):
    Path("my.toml").write_text(MINE)
    code, out, err = command("run", "my.toml", "--out", "here", "--jobs", 1)
    assert code == 0, err
    assert "M1  two worlds: " in out
    assert "\nM2  1 of 1 sentence holds\n" in out
    assert "    - HOLDS: “it is no worse than bad”" in out
    (text,) = (path.read_text() for path in Path("here").rglob("claims.md"))
    (data,) = (json.loads(path.read_text()) for path in Path("here").rglob("claims.json"))
    assert [claim["claim"] for claim in data["claims"]] == ["M1", "M2"]
    assert "## M1: two worlds\n" in text
    assert "## M2\n" in text
    sentences = [of for claim in data["claims"] for of in claim["sentences"]]
    assert len(sentences) == 3
    for of in sentences:
        assert f"“{of['says']}”" in out
        assert of["verdict"].upper() in out
        by = of["by"].replace("|", "\\|")  # no column of a table
        assert f"**“{of['says']}”**: {of['verdict']}. {of['measured']}. By {by}; " in text
        assert of["seeds"] == "5 seeds"
        assert any(word in of["by"] for word in ("%", "interval"))
        assert len(of["checks"]) == 2
        assert {check["seeds"][0] for check in of["checks"]} == {5}
    lines = [line for line in text.splitlines() if line.startswith(("| |", "|  |"))]
    assert len([line for line in lines if "5 seeds" in line and " By " in line]) == 3

    code, out, err = command("run", "my.toml", "--out", "quick", "--quick", "--jobs", 1)
    assert code == 0, err
    (data,) = (json.loads(path.read_text()) for path in Path("quick").rglob("claims.json"))
    sentences = [of for claim in data["claims"] for of in claim["sentences"]]
    assert {of["verdict"] for of in sentences} == {"open"}
    assert "of 2" in sentences[0]["measured"]
    assert "1 not run" in sentences[0]["measured"]


def test_nothing_starts_if_a_claim_is_wrong(command):
    Path("my.toml").write_text(MINE.replace('check = "better"', 'check = "beter"'))
    code, _, err = command("run", "my.toml", "--out", "here")
    assert code == 2
    assert "claim[0].sentence[0]: check: there is no 'beter'; did you mean 'better'?" in err
    assert not Path("here").exists()


def test_a_quick_request_is_understood_although_settings_that_claims_name_are_left_out(tmp_path):
    blocks = [{**BLOCKS[0], "quick": {"worlds": ["loop"]}}]
    of_empty = BETTER | {"where": {"world": "empty"}}
    asked = ask_suite(suite(ENDS, of_empty, blocks=blocks, steps=400), quick=True)
    keep(asked, tmp_path)
    (again,) = kept(tmp_path)
    (figure,) = again.parsed().figures
    assert figure == asked.plans[0].figure
    assert [of.of for of in figure.claims[0].sentence] == [4, 2]


def test_settings_along_a_key_must_be_alike_but_for_it():
    """Else a check would find nothing to compare, and call that not run."""
    blocks = [
        {"worlds": ["loop", "hazard"], "monitors": ["ask"], "agents": [OURS]},
        {"worlds": ["loop"], "monitors": ["ask"], "rho": [0.2], "agents": [OURS]},
    ]
    slower = ENDS | {"check": "worse-along", "along": {"rho": [1.0, 0.2]}}
    with pytest.raises(MonMDPError, match=r"along: hazard / ask is there with rho = 1\.0 only"):
        suite(slower, blocks=blocks)
    assert only_of(suite(slower | {"where": {"world": "loop"}}, blocks=blocks)).of == 2
