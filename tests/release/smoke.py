"""What an installed package must do: run by `make smoke` in an environment that has nothing else.

python smoke.py

Plain Python, no test runner: an environment that was made from the wheel alone has none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path


def monmdp(*words: str, code: int = 0) -> str:
    """Run the installed command; return what it prints."""
    program = Path(sys.executable).parent / "monmdp"
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout if code == 0 else done.stderr


def main() -> None:
    """Check the installation piece by piece."""
    import gymnasium
    import numpy as np

    import monmdp as package

    place = Path(package.__file__).resolve()
    assert "site-packages" in place.parts, f"this is no installed package: {place}"
    assert package.__version__ == version("monmdp")
    assert monmdp("--version").strip() == f"monmdp {package.__version__}"
    assert (files("monmdp") / "py.typed").is_file()
    extras = {line.split("extra ==")[-1].strip(" '\"") for line in requires("monmdp") or []
              if "extra ==" in line}  # fmt: skip
    assert extras >= {"cluster", "deep", "docs", "dev", "exchange", "gpu", "icu", "minigrid"}, (
        extras
    )

    assert "bottleneck" in monmdp("list")
    solved = json.loads(monmdp("solve", "bottleneck", "button", "rho=0.05", "--json"))
    assert abs(solved["value"] - 0.1943) < 1e-3, solved
    assert "did you mean 'bottleneck'" in monmdp("solve", "botleneck", "button", code=2)
    words = ("train", "loop", "ask", "--agent", "monitored-mbie-eb", "--seeds", "2")
    assert "seeds converged" in monmdp(*words, "--steps", "2000")
    (picture,) = Path("results/reports").rglob("train.png")
    assert picture.stat().st_size > 1000
    run, _ = sorted(Path("results/runs").rglob("seed-000?.parquet"))
    assert "worst case return" in monmdp("evaluate", str(run), "loop", "ask")
    assert "figure-4" in monmdp("reproduce", "figure-4", "--quick", "--dry-run")
    monmdp("report", "results")
    assert "monitored-mbie-eb" in Path("results/report.html").read_text(encoding="utf-8")
    words = ("reproduce", "figure-4", "--quick", "--scheduler", "tcp://127.0.0.1:1")
    assert "pip install 'monmdp[cluster]'" in monmdp(*words, code=2)

    monmdp("log", "treasure-hunter", "ask", "--rows", "2000", "-o", "log.csv")
    assert "never seen               1" in monmdp("fit", "log.csv")
    assert "recommended: robust" in monmdp("decide", "problem.npz")
    assert "START:LEFT" in monmdp("instrument", "problem.npz", "--budget", "1")
    assert "factored-mbie-eb" in monmdp("bench")
    monmdp("export", "loop", "-o", "loop.umb")
    assert "pip install 'monmdp[exchange]'" in monmdp("solve", "loop.umb", "ask", code=2)

    env = gymnasium.make("monmdp/Bottleneck-v0", monitor="ask")
    env.reset(seed=0)
    assert env.step({"env": 0, "mon": 1})[4]["reward_observed"]
    vec = gymnasium.make_vec("monmdp/Bottleneck-v0", num_envs=16, monitor="ask")
    observations, _ = vec.reset(seed=0)
    assert np.shape(observations["env"]) == (16,)
    monitored = package.envs.AddMonitor(gymnasium.make("CartPole-v1"), "ask")
    monitored.reset(seed=0)
    assert monitored.step({"env": 0, "mon": 1})[4]["proxy_reward"] == 1.0
    print(f"monmdp {package.__version__} from {place.parent}: all is there and works")


if __name__ == "__main__":
    main()
