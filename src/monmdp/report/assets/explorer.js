/* The explorer of one run: what the agent knew at each snapshot, laid over the map of the world,
   and an episode to watch. `mountExplorer(root, data)` builds it inside `root` from what
   report/inside.py wrote. */
const mountExplorer = (() => {
  "use strict";

  const COMPASS = {
    LEFT: { path: "M0 0L.5 .5L0 1Z", turn: 180 },
    DOWN: { path: "M0 1L.5 .5L1 1Z", turn: 90 },
    RIGHT: { path: "M1 1L.5 .5L1 0Z", turn: 0 },
    UP: { path: "M1 0L.5 .5L0 0Z", turn: 270 },
    STAY: { path: "M.5 .27L.73 .5L.5 .73L.27 .5Z", turn: null },
  };
  const STATUS = ["still unknown", "seen", "never shown"];
  const MOST_SHAPES = 20000; // more than that make the slider slow: cells are then not divided
  const TOO_LARGE = "This map is too large for arrows and divided cells: a cell shows the largest value of its actions.";
  const MOST_WAYS = 12;
  const RARE = 1e-9; // so many visits per episode count as none: chances are rounded
  const COLUMN = 70; // pixels that an action takes in the table
  const SMALLEST_CELL = 22; // pixels, for a finger
  const SMALLEST_ROBOT = 16; // it is drawn no smaller than this part of a map
  const BEAT = 600; // milliseconds a step of an episode is shown

  let mounted = 0;

  // ---- small things ----------------------------------------------------------------------

  const html = element;
  const svg = shape;
  const number = (x) => short(x, 3);

  // Drawings that report/inside.py made of paths; nothing in them was written by a user.
  function drawing(text, attributes = {}) {
    const group = svg("g", attributes);
    group.innerHTML = text;
    return group;
  }

  function scrollTo(node) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    node.scrollIntoView({ block: "start", behavior: still ? "instant" : "smooth" });
  }

  const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${number(n)} times`);
  const clamp = (x) => Math.min(1, Math.max(0, x));

  function mix(stops, t) {
    const at = clamp(t) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const part = (stop, i) => parseInt(stop.slice(1 + 2 * i, 3 + 2 * i), 16);
    const rgb = [0, 1, 2].map((i) => {
      const a = part(stops[low], i);
      return Math.round(a + (at - low) * (part(stops[low + 1], i) - a));
    });
    return `rgb(${rgb.join(",")})`;
  }

  // ---- data ------------------------------------------------------------------------------

  async function unpackAll(thing) {
    if (Array.isArray(thing) || thing === null || typeof thing !== "object") return thing;
    if ("dtype" in thing && "data" in thing) return unpack(thing);
    const entries = Object.entries(thing).map(async ([k, v]) => [k, await unpackAll(v)]);
    return Object.fromEntries(await Promise.all(entries));
  }

  // Questions that the views ask of the data, with the snapshot as `i`.
  class Model {
    constructor(data) {
      Object.assign(this, data);
      this.nStates = data.states.length;
      this.nMonitor = data.monitor_states.length;
      this.nActions = data.actions.length;
      const any = data.layers && data.layers.visits;
      this.perAction = Boolean(any) && any.shape[3] === this.nActions;
      this.valueKey = ["q_opt", "q"].find((key) => data.layers && key in data.layers);
      this.blues = (t) => mix(data.colours.blues, t);
      this.oranges = (t) => mix(data.colours.oranges, t);
      this.scales = new Map();
      this.into = this.waysIn();
    }

    at(key, i, se, sm, a) {
      const layer = this.layers[key];
      if (!layer) return NaN;
      return layer[((i * this.nStates + se) * this.nMonitor + sm) * layer.shape[3] + a];
    }

    best(key, i, se, sm) {
      let most = NaN;
      for (let a = 0; a < this.layers[key].shape[3]; a++) {
        const x = this.at(key, i, se, sm, a);
        if (!(x <= most) && !Number.isNaN(x)) most = x;
      }
      return most;
    }

    // Whether for some monitor action a value is still at its optimistic initial value: 1 because the
    // joint action is untried, 2 although all have been tried by now; else 0.
    pinned(i, se, sm, a) {
      return this.perAction ? this.at("pinned", i, se, sm, a) || 0 : 0;
    }

    // How often a test episode is in a cell, with the monitor in one state or in any.
    tested(i, se, sm) {
      let total = 0;
      for (let a = 0; a < this.nActions; a++) total += this.at("tested", i, se, sm, a);
      return total;
    }

    testedInAll(i, se) {
      return this.monitor_states.reduce((total, _, sm) => total + this.tested(i, se, sm), 0);
    }

    // What the agent treats a reward as that was never shown.
    unseenInWords() {
      return this.unseen === "r_min" ? `r_min = ${number(this.r_min)}` : this.unseen;
    }

    neverObservable(se, a) {
      return this.truth.never_observable[se * this.nActions + a] === 1;
    }

    // [state] the pairs that may lead there, with their chance.
    waysIn() {
      const into = Array.from({ length: this.nStates }, () => []);
      const { first, state, probability } = this.moves;
      for (let pair = 0; pair < this.nStates * this.nActions; pair++) {
        const chance = new Map();
        for (let o = first[pair]; o < first[pair + 1]; o++) {
          chance.set(state[o], (chance.get(state[o]) || 0) + probability[o]);
        }
        const from = Math.floor(pair / this.nActions);
        for (const [to, p] of chance) into[to].push({ from, action: pair % this.nActions, p });
      }
      return into;
    }

    episode(kind, i) {
      const of = this.rollouts[kind];
      const begin = of.first[i];
      return { of, begin, length: of.first[i + 1] - begin - 1, terminated: of.terminated[i] };
    }

    // How the values of a layer become colours: {colour(x), ticks, bar} for one snapshot.
    scale(layer, i) {
      const fixed = layer.scale === "log" || layer.scale === "chance";
      const key = `${layer.key} ${fixed ? "" : i}`;
      if (!this.scales.has(key)) this.scales.set(key, this.makeScale(layer, i));
      return this.scales.get(key);
    }

    makeScale(layer, i) {
      const { blues, oranges } = this;
      if (layer.scale === "log") return logScale(this.learnt(layer, null).at(-1), blues);
      if (layer.scale === "chance") return chanceScale(blues);
      const values = this.learnt(layer, i);
      if (!values.length) return null;
      return values[0] < 0 ? twoSidedScale(values, blues, oranges) : oneSidedScale(values, blues);
    }

    // The learnt values in order, of one snapshot or of all; not those that stand at their start.
    learnt(layer, i) {
      const values = this.layers[layer.key];
      const size = this.nStates * this.nMonitor * values.shape[3];
      const [begin, end] = i === null ? [0, values.length] : [i * size, (i + 1) * size];
      const skip = layer.scale === "value" && this.perAction ? this.layers.pinned : null;
      const there = (x, k) => !Number.isNaN(x) && !(skip && skip[begin + k] > 0);
      return values.slice(begin, end).filter(there).sort();
    }
  }

  // ---- colours ---------------------------------------------------------------------------

  // A scale has colour(x) of a value, bar(t) along the legend, and ticks {x, at} on it.

  function chanceScale(blues) {
    const ticks = [0, 0.5, 1].map((x) => ({ x, at: x }));
    return { colour: blues, bar: blues, ticks };
  }

  function logScale(most, blues) {
    const top = Math.log10(Math.max(most, 10));
    const place = (x) => clamp(Math.log10(Math.max(x, 1)) / top);
    const bar = (t) => blues(0.08 + 0.92 * t);
    const ticks = [];
    for (let power = 0; power / top < 0.82; power++) ticks.push(10 ** power);
    ticks.push(Math.max(most, 10));
    return {
      colour: (x) => (x > 0 ? bar(place(x)) : null), bar, blank: "never",
      ticks: ticks.map((x) => ({ x, at: place(x) })),
    };
  }

  // Where a value stands among sorted ones, in [0, 1]: half by amount, half by rank, so that a few
  // far ones do not make all others look alike.
  function placeAmong(sorted) {
    const low = sorted[0];
    const width = sorted.at(-1) - low || 1;
    const rank = (x) => {
      let begin = 0;
      let end = sorted.length;
      while (begin < end) {
        const middle = (begin + end) >> 1;
        if (sorted[middle] < x) begin = middle + 1;
        else end = middle;
      }
      return begin / Math.max(1, sorted.length - 1);
    };
    return (x) => clamp(0.5 * ((x - low) / width) + 0.5 * Math.min(1, rank(x)));
  }

  // Ticks at the ends, and at values that stand apart from each other.
  function ticksAmong(sorted, place) {
    const ticks = [{ x: sorted[0], at: place(sorted[0]) }];
    const last = { x: sorted.at(-1), at: place(sorted.at(-1)) };
    for (const x of sorted) {
      const at = place(x);
      if (at - ticks.at(-1).at >= 0.3 && last.at - at >= 0.25) ticks.push({ x, at });
    }
    return last.at > ticks.at(-1).at ? [...ticks, last] : ticks;
  }

  function oneSidedScale(sorted, blues) {
    const place = placeAmong(sorted);
    return { colour: (x) => blues(place(x)), bar: blues, ticks: ticksAmong(sorted, place) };
  }

  // Orange below zero, blue above; each has half of the bar, so that neither hides the other.
  function twoSidedScale(sorted, blues, oranges) {
    const below = placeAmong([...sorted.filter((x) => x < 0), 0]);
    const above = placeAmong([0, ...sorted.filter((x) => x >= 0)]);
    const place = (x) => (x < 0 ? below(x) / 2 : 0.5 + above(x) / 2);
    const bar = (t) => (t < 0.5 ? oranges(1 - 2 * t) : blues(2 * t - 1));
    const ticks = [sorted[0], 0, sorted.at(-1)].filter((x, k) => k < 2 || x > 0);
    return { colour: (x) => bar(place(x)), bar, ticks: ticks.map((x) => ({ x, at: place(x) })) };
  }

  // ---- shapes of a cell ------------------------------------------------------------------

  function regionsOf(actions) {
    const names = actions.map((action) => action.toUpperCase());
    const compass = names.every((name) => name in COMPASS) && new Set(names).size === names.length;
    if (compass && names.some((name) => name === "UP" || name === "DOWN")) {
      return names.map((name) => COMPASS[name]);
    }
    const order = compass ? ["LEFT", "STAY", "RIGHT"].filter((n) => names.includes(n)) : names;
    const width = 1 / names.length;
    return names.map((name, a) => {
      const x = (compass ? order.indexOf(name) : a) * width;
      const middle = x + width / 2;
      const turn = compass ? COMPASS[name].turn : null;
      return { path: `M${x} 0h${width}v1h${-width}Z`, turn, middle };
    });
  }

  // How likely the test policy takes an action: an arrow the longer the likelier, or a disc.
  function arrow(region, p) {
    if (region.turn === null) {
      const r = 0.05 + 0.07 * p;
      return svg("circle", { class: "ex-arrow", cx: region.middle ?? 0.5, cy: 0.5, r });
    }
    const tip = 0.2 + 0.25 * p;
    const points = `.05,-.03 ${tip - 0.12},-.03 ${tip - 0.12},-.085 ${tip},0 ${tip - 0.12},.085 ${tip - 0.12},.03 .05,.03`;
    return svg("polygon", { class: "ex-arrow", points, transform: `translate(.5 .5) rotate(${region.turn})` });
  }

  // ---- one panel: the world in one state of the monitor ------------------------------------

  class Panel {
    constructor(app, sm) {
      this.app = app;
      this.sm = sm;
      this.cells = [];
      const { model } = app;
      const { rows, columns } = model.world;
      this.agent = this.drawAgent();
      this.board = svg("svg", {
        viewBox: `-.04 -.04 ${columns + 0.08} ${rows + 0.08}`, role: "group", class: "ex-board",
        "aria-label": `map, monitor ${model.monitor_states[sm]}; arrow keys move, Enter opens a cell`,
      });
      this.board.style.maxWidth = `${Math.max(columns * 88, 150)}px`;
      this.drawGround();
      for (let se = 0; se < model.nStates; se++) this.drawCell(se);
      this.drawButton();
      this.board.append(this.agent);
      this.board.addEventListener("keydown", (event) => this.onKey(event));
      this.root = html("figure", { class: "ex-panel", "data-test": `panel-${sm}` },
        html("figcaption", {}, this.caption()), this.board);
      this.cells[0].group.setAttribute("tabindex", "0");
    }

    caption() {
      const { model } = this.app;
      return model.nMonitor === 1 ? "the world" : `monitor ${model.monitor_states[this.sm]}`;
    }

    drawGround() {
      const { world } = this.app.model;
      const cells = world.tiles.flatMap((tile) => tile.cells.map(([r, c]) => [r, c, tile.background]));
      if (!world.tiles.length) for (const [r, c] of world.cells) cells.push([r, c, "#fbfaf5"]);
      for (const [r, c, fill] of cells) {
        this.board.append(svg("rect", { x: c, y: r, width: 1, height: 1, fill, class: "ex-ground" }));
      }
    }

    drawCell(se) {
      const { app } = this;
      const [r, c] = app.model.world.cells[se];
      const group = svg("g", {
        class: "ex-cell", transform: `translate(${c} ${r})`, tabindex: -1, role: "button",
        "data-test": `cell-${this.sm}-${se}`,
      });
      group.append(svg("rect", { width: 1, height: 1, fill: "transparent" }));
      const shapes = app.regions.map((region) => svg("path", { d: region.path, class: "ex-heat" }));
      group.append(...shapes, svg("rect", { width: 1, height: 1, class: "ex-edge" }));
      this.drawThing(group, se);
      const arrows = svg("g");
      group.append(arrows, svg("rect", { x: 0.04, y: 0.04, width: 0.92, height: 0.92, class: "ex-ring" }));
      group.addEventListener("click", () => app.select(this.sm, se));
      this.cells.push({ group, shapes, arrows });
      this.board.append(group);
    }

    drawThing(group, se) {
      const { model, ids, tileOf } = this.app;
      const tile = tileOf[se];
      if (tile !== undefined && model.world.tiles[tile].svg) {
        group.append(svg("circle", { cx: 0.22, cy: 0.22, r: 0.2, class: "ex-plate" }));
        group.append(svg("use", { href: `#${ids}-tile-${tile}`, x: 0.05, y: 0.05, width: 0.34, height: 0.34 }));
      }
      if (model.world.kind === "sheet") {
        const label = model.states[se];
        const text = svg("text", { x: 0.06, y: 0.2, class: "ex-label" });
        text.textContent = label.length > 9 ? `${label.slice(0, 8)}…` : label;
        group.append(text);
      }
    }

    drawButton() {
      const { model, ids } = this.app;
      const { button } = model.world;
      if (!button) return;
      const [y, x] = model.world.cells[button.state];
      this.board.append(svg("use", { href: `#${ids}-button`, x, y, width: 1, height: 1, class: "ex-button" }));
    }

    // The robot with its badges: whether the last reward was shown, and a coin if the monitor cost something.
    drawAgent() {
      const { model, ids } = this.app;
      const use = (name, box) => svg("use", { href: `#${ids}-${name}`, ...box });
      this.eye = use("eye-shown", { x: 0.53, y: -0.07, width: 0.54, height: 0.54 });
      this.coin = use("coin", { x: 0.66, y: 0.6, width: 0.4, height: 0.4 });
      this.badge = svg("g", { "data-test": "badge" });
      const size = Math.max(1, Math.max(model.world.rows, model.world.columns) / SMALLEST_ROBOT);
      const transform = `translate(.5 .5) scale(${size}) translate(-.5 -.5)`;
      return svg("g", { class: "ex-robot", "aria-hidden": "true" },
        svg("g", { transform }, use("robot", { width: 1, height: 1 })));
    }

    refresh() {
      const { app } = this;
      const { model, view, layer } = app;
      const scale = layer && layer.scale !== "status" ? model.scale(layer, view.i) : null;
      this.cells.forEach((cell, se) => {
        cell.shapes.forEach((shape, a) => shape.setAttribute("fill", layer ? this.fill(scale, se, a) : "none"));
        const value = layer ? model.best(layer.key, view.i, se, this.sm) : NaN;
        cell.group.setAttribute("data-value", Number.isNaN(value) ? "nan" : value);
        const shown = layer ? `, ${layer.title} ${layer.scale === "status" ? this.statuses(se) : number(value)}` : "";
        cell.group.setAttribute("aria-label", `cell ${model.states[se]}${shown}`);
        this.drawArrows(cell.arrows, se);
      });
    }

    fill(scale, se, a) {
      const { app, sm } = this;
      const { model, view, layer, ids } = app;
      const key = layer.key;
      if (app.divided && (key === "q_opt" || key === "q_obs") && model.pinned(view.i, se, sm, a)) {
        return `url(#${ids}-untried)`;
      }
      const x = app.divided ? model.at(key, view.i, se, sm, a) : model.best(key, view.i, se, sm);
      if (layer.scale === "status") return `url(#${ids}-status-${x})`;
      if (Number.isNaN(x)) return `url(#${ids}-untried)`;
      return (scale && scale.colour(x)) || "none";
    }

    statuses(se) {
      const { model, view } = this.app;
      const count = [0, 0, 0];
      for (let a = 0; a < model.layers.status.shape[3]; a++) count[model.at("status", view.i, se, this.sm, a)]++;
      return count.map((n, status) => (n ? `${n} ${STATUS[status]}` : "")).filter(Boolean).join(", ");
    }

    drawArrows(group, se) {
      const { model, view, regions } = this.app;
      group.replaceChildren();
      if (!view.arrows || !model.layers.policy) return;
      const chances = regions.map((_, a) => model.at("policy", view.i, se, this.sm, a));
      const undecided = chances.length > 1 && Math.max(...chances) - Math.min(...chances) < 1e-6;
      if (undecided) return; // as many arrows as actions would say nothing
      regions.forEach((region, a) => {
        if (chances[a] > 0.001) group.append(arrow(region, chances[a]));
      });
    }

    onKey(event) {
      const se = this.cells.findIndex((cell) => cell.group === document.activeElement);
      if (se < 0) return;
      if (event.key === "Enter" || event.key === " ") this.app.select(this.sm, se);
      else if (!this.move(se, event.key)) return;
      event.preventDefault();
    }

    // Move the focus to the next cell in a direction, over walls.
    move(se, key) {
      const step = { ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowRight: [0, 1], ArrowUp: [-1, 0] }[key];
      if (!step) return false;
      const { cells, rows, columns } = this.app.model.world;
      let [r, c] = cells[se];
      for (;;) {
        r += step[0];
        c += step[1];
        if (r < 0 || c < 0 || r >= rows || c >= columns) return true;
        const next = cells.findIndex(([row, column]) => row === r && column === c);
        if (next >= 0) {
          this.focusOn(se, next);
          return true;
        }
      }
    }

    focusOn(from, to) {
      for (const cell of this.cells) cell.group.setAttribute("tabindex", "-1");
      this.cells[to].group.setAttribute("tabindex", "0");
      if (from !== to) this.cells[to].group.focus();
    }

    mark(selected) {
      this.cells.forEach((cell, se) => {
        const here = selected !== null && selected.sm === this.sm && selected.se === se;
        cell.group.classList.toggle("is-selected", here);
      });
    }

    // Put the agent there; `last` is {shown, paid} of its last step, null before the first.
    place(se, here, last) {
      const [r, c] = this.app.model.world.cells[se];
      this.agent.style.transform = `translate(${c}px, ${r}px)`;
      this.agent.style.display = here ? "" : "none";
      this.root.classList.toggle("is-current", here);
      this.badge.remove();
      if (!here || !last) return;
      this.badge.setAttribute("data-shown", last.shown ? "yes" : "no");
      this.eye.setAttribute("href", `#${this.app.ids}-eye-${last.shown ? "shown" : "hidden"}`);
      this.badge.replaceChildren(this.eye, ...(last.paid ? [this.coin] : []));
      this.agent.firstChild.append(this.badge);
    }
  }

  // ---- what is chosen --------------------------------------------------------------------

  // A choice of app.view[key]; `also` changes with it.
  function radio(app, key, value, test, text, also = {}) {
    const input = html("input", { type: "radio", name: `${app.ids}-${key}`, value, "data-test": test });
    input.checked = app.view[key] === value;
    input.addEventListener("change", () => app.change({ [key]: value, ...also }));
    return html("label", { class: "ex-choice" }, input, html("span", {}, text));
  }

  class Controls {
    constructor(app) {
      this.app = app;
      this.explains = html("p", { class: "ex-explains" });
      const radios = app.model.shown.map(({ key, title }) => radio(app, "layer", key, `layer-${key}`, title));
      const box = html("input", { type: "checkbox", "data-test": "arrows" });
      box.checked = app.view.arrows;
      box.disabled = !app.divided;
      box.addEventListener("change", () => app.change({ arrows: box.checked }));
      const arrows = html("label", { class: "ex-choice", title: "none where all actions are tied" },
        box, html("span", {}, "arrows of the test policy"));
      this.legend = html("div", { class: "ex-legend", "data-test": "legend" });
      this.root = html("div", { class: "ex-controls" },
        html("fieldset", {}, html("legend", {}, "what to show"), ...radios, app.model.layers.policy ? arrows : ""),
        app.model.perAction && !app.divided ? html("p", { class: "ex-note", "data-test": "too-large" }, TOO_LARGE) : "",
        this.explains, this.legend);
    }

    refresh() {
      const { app } = this;
      const { layer, model, view } = app;
      this.legend.replaceChildren();
      if (!layer) return;
      this.explains.textContent = layer.explains;
      if (layer.scale === "status") return this.showStatuses();
      const scale = model.scale(layer, view.i);
      if (scale) this.showBar(scale, layer);
      if (scale && scale.blank) this.legend.append(this.swatch("none", scale.blank));
      if (layer.scale === "amount" && app.divided) this.legend.append(this.swatch(`url(#${app.ids}-untried)`, "untried"));
    }

    showBar(scale, layer) {
      const colours = Array.from({ length: 21 }, (_, k) => `${scale.bar(k / 20)} ${5 * k}%`);
      const bar = html("div", { class: "ex-bar" });
      bar.style.background = `linear-gradient(90deg, ${colours.join(", ")})`;
      const ticks = scale.ticks.map(({ x, at }) => {
        const tick = html("span", {}, number(x));
        tick.style.left = `${100 * at}%`;
        return tick;
      });
      const byScale = { log: "visits, log scale", chance: "chance" };
      const byKey = { reward_model: "reward", q_obs: "discounted hope", bonus: "added reward", tested: "visits per episode" };
      const unit = byScale[layer.scale] || byKey[layer.key] || "discounted return";
      this.legend.append(
        html("div", { class: "ex-scale" }, bar, html("div", { class: "ex-ticks" }, ...ticks)),
        html("span", { class: "ex-unit" }, unit));
    }

    showStatuses() {
      const { model, ids } = this.app;
      const unseen = model.unseenInWords();
      const belief = model.pooled ? "known to be unobservable" : "tried with every monitor action, never shown: believed unobservable";
      const words = [STATUS[0], STATUS[1], `${belief}, treated as ${unseen}`];
      if (model.unseen !== "r_min") words[2] = `tried, never shown, treated as ${unseen}`;
      words.forEach((text, k) => this.legend.append(this.swatch(`url(#${ids}-status-${k})`, text)));
    }

    swatch(fill, text) {
      const square = svg("svg", { viewBox: "0 0 .5 .5", "aria-hidden": "true" },
        svg("rect", { width: 0.5, height: 0.5, fill, class: "ex-swatch" }));
      return html("span", { class: "ex-key" }, square, text);
    }
  }

  // ---- training time ---------------------------------------------------------------------

  class Timeline {
    constructor(app) {
      this.app = app;
      const { step } = app.model.snapshots;
      this.slider = html("input", {
        type: "range", min: 0, max: step.length - 1, step: 1, "data-test": "slider", "aria-label": "training time",
      });
      this.knots = [...new Set([0, ...step, app.model.steps])].sort((a, b) => a - b);
      this.slider.style.setProperty("--ex-from", this.place(step[0]));
      this.slider.style.setProperty("--ex-to", this.place(step.at(-1)));
      this.slider.value = app.view.i;
      this.slider.addEventListener("input", () => app.change({ i: Number(this.slider.value), t: 0 }));
      this.label = html("output", { class: "ex-when", "data-test": "when" });
      this.marker = svg("line", { y1: 0, y2: 60, class: "ex-marker", "data-test": "marker" });
      this.root = html("div", { class: "ex-time" }, this.label, ...this.sparkline());
    }

    // Where a training step is drawn, in [0, 1]: the snapshots stand evenly, as the slider has them.
    place(step) {
      const { knots } = this;
      const next = Math.min(Math.max(1, knots.findIndex((knot) => knot >= step)), knots.length - 1);
      const part = (step - knots[next - 1]) / (knots[next] - knots[next - 1]);
      return (next - 1 + part) / (knots.length - 1);
    }

    ticks() {
      const { knots } = this;
      const at = [0, 1, 2, 3, 4].map((k) => knots[Math.round((k * (knots.length - 1)) / 4)]);
      const ticks = [...new Set(at)].map((step) => {
        const tick = html("span", { "data-step": step }, number(step));
        tick.style.left = `${100 * this.place(step)}%`;
        return tick;
      });
      return html("div", { class: "ex-steps", "data-test": "steps", "aria-hidden": "true" }, ...ticks);
    }

    // The learning curve, the slider below it, and on the same scale the steps.
    sparkline() {
      const { curve, truth } = this.app.model;
      const finite = Array.from(curve.value).filter(Number.isFinite);
      if (truth.minimax !== null) finite.push(truth.minimax);
      const low = Math.min(...finite);
      const width = Math.max(...finite) - low || 1;
      const y = (v) => 56 - (52 * (v - low)) / width;
      const points = Array.from(curve.value, (v, k) => `${600 * this.place(curve.step[k])},${y(v)}`).join(" ");
      const plot = svg("svg", { viewBox: "0 0 600 60", preserveAspectRatio: "none", class: "ex-spark", role: "img" },
        svg("polyline", { points, class: "ex-curve" }), this.marker);
      const minimax = truth.minimax === null ? "" : `; dashed: minimax-optimal, ${number(truth.minimax)}`;
      plot.setAttribute("aria-label", `learning curve, test return from ${number(low)} to ${number(low + width)}${minimax}`);
      if (truth.minimax !== null) {
        plot.prepend(svg("line", { x1: 0, x2: 600, y1: y(truth.minimax), y2: y(truth.minimax), class: "ex-minimax" }));
      }
      const { knots } = this;
      const early = knots[1] < (knots.at(-1) - knots.at(-2)) / 2 ? "; early steps are drawn wider" : "";
      const text = `test return, ${number(low)} to ${number(low + width)}${minimax}${early}`;
      return [html("div", { class: "ex-plot" }, plot), this.slider, html("div", { class: "ex-plot" }, this.ticks()),
        html("p", { class: "ex-note" }, text)];
    }

    refresh() {
      const { model, view } = this.app;
      const { step, episodes, observe_episodes: observing } = model.snapshots;
      const x = 600 * this.place(step[view.i]);
      this.marker.setAttribute("x1", x);
      this.marker.setAttribute("x2", x);
      const counted = episodes
        ? ` · episodes ${number(episodes[view.i])}, ${number(observing[view.i])} to observe` : "";
      const text = `step ${number(step[view.i])} of ${number(model.steps)}${counted}`;
      this.label.textContent = text;
      this.slider.setAttribute("aria-valuetext", text);
    }
  }

  // ---- one cell in detail ----------------------------------------------------------------

  class Detail {
    constructor(app) {
      this.app = app;
      this.root = html("section", { class: "ex-detail", "data-test": "detail", "aria-live": "polite" });
      addEventListener("resize", () => this.fit());
    }

    // Where a row of the table has no room for a title and all actions, its title stands above them.
    fit() {
      const room = COLUMN * (this.app.model.nActions + 1.4);
      this.root.classList.toggle("is-stacked", this.root.clientWidth < room);
    }

    refresh() {
      const { app } = this;
      const { model, view } = app;
      this.root.replaceChildren();
      this.fit();
      const { se, sm } = view.selected;
      const thing = app.tileOf[se] === undefined ? "" : ` · ${model.world.tiles[app.tileOf[se]].name}`;
      const monitor = model.nMonitor > 1 ? ` · monitor ${model.monitor_states[sm]}` : "";
      this.root.append(this.back(), html("h4", {}, `${model.states[se]}${thing}${monitor}`));
      if (!model.perAction) return;
      if (model.layers.tested) this.root.append(html("p", { class: "ex-why", "data-test": "why" }, this.why(se, sm)));
      this.root.append(html("div", { class: "ex-wide" }, this.table(se, sm)));
      const reasons = new Set(model.actions.map((_, a) => this.whyPinned(se, sm, a)));
      reasons.delete("");
      if (reasons.size) {
        const text = `* not learnt yet for some monitor action, still at its optimistic initial value: ${[...reasons].join(", or ")}`;
        this.root.append(html("p", { class: "ex-note", "data-test": "footnote" }, text));
      }
      if (model.layers.monitor_policy && model.monitor_actions.length > 1) {
        this.root.append(html("p", { class: "ex-note" }, this.monitorActions(se, sm)));
      }
      this.root.append(...this.ways(se, sm));
    }

    // On a narrow screen a cell that is chosen takes the reader away from the map.
    back() {
      const button = html("button", { type: "button", class: "ex-back", "data-test": "back" }, "back to the map");
      button.addEventListener("click", () => scrollTo(this.app.boards));
      return button;
    }

    // What the table has a row for: [layer, title].
    quantities() {
      const { model } = this.app;
      const several = model.nMonitor > 1 && !model.pooled;
      const all = [["visits", several ? "visits here" : "visits"], ["seen", several ? "shown, in any monitor state" : "shown"],
        ["status", "reward"], ["hope", "hope to see"], ["q_opt", "Q_opt"], ["q", "Q"], ["q_obs", "Q_obs"],
        ["reward_model", "r̂"], ["bonus", "bonus"], ["policy", "policy"]];
      return all.filter(([key]) => key in model.layers);
    }

    // A column for each action.
    table(se, sm) {
      const { model } = this.app;
      const row = (title, cell) =>
        html("tr", {}, html("th", { scope: "row" }, title), ...model.actions.map((_, a) => cell(a)));
      const truth = (a) => html("td", {}, number(model.moves.reward[se * model.nActions + a]));
      const observable = (a) => html("td", {}, model.neverObservable(se, a) ? "never" : "yes");
      const table = html("table", {},
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "action"),
          ...model.actions.map((action) => html("th", { scope: "col" }, action)))),
        html("tbody", {}, ...this.quantities().map(([key, title]) => row(title, (a) => this.entry(key, se, sm, a)))),
        html("tbody", { class: "ex-truth" }, row("true reward", truth), row("can be seen (truth)", observable)));
      table.style.setProperty("--ex-actions", model.nActions);
      return table;
    }

    entry(key, se, sm, a) {
      const { model, view } = this.app;
      const x = model.at(key, view.i, se, sm, a);
      if (key === "status") {
        const words = ["· unknown", "● seen", "✕ unseen"][x];
        return html("td", { title: this.statusInWords(x) }, words);
      }
      const why = key === "q_opt" || key === "q_obs" ? this.whyPinned(se, sm, a) : "";
      return html("td", { title: why || null }, number(x) + (why ? "*" : ""));
    }

    // Why a value stands at its start; no words if it does not.
    whyPinned(se, sm, a) {
      const { model, view } = this.app;
      const pinned = model.pinned(view.i, se, sm, a);
      if (pinned === 0) return "";
      if (pinned === 1) return "untried with some monitor action";
      if (model.unseen === "r_min") return "first tried since the agent last planned";
      return model.at("seen", view.i, se, sm, a) ? "first tried or first shown since the agent last planned"
        : "its reward was never shown";
    }

    statusInWords(status) {
      const { model } = this.app;
      if (status !== 2) return STATUS[status];
      return model.unseen === "r_min" ? "believed unobservable" : "tried, never shown";
    }

    monitorActions(se, sm) {
      const { model, view } = this.app;
      const chances = model.monitor_actions
        .map((name, a) => [name, model.at("monitor_policy", view.i, se, sm, a)])
        .filter(([, p]) => p > 0.001)
        .map(([name, p]) => `${name} ${number(p)}`);
      return `monitor action of the test policy: ${chances.join(", ")}`;
    }

    // What the agent holds of one way into a cell, with the monitor in a state; `flow` is how often
    // a test episode takes it, whatever the monitor's state.
    way({ from, action, p }, sm) {
      const { model, view } = this.app;
      const { i } = view;
      const key = model.valueKey;
      let bestAction = 0;
      for (let a = 1; a < model.nActions; a++) {
        if (model.at(key, i, from, sm, a) > model.at(key, i, from, sm, bestAction)) bestAction = a;
      }
      const value = model.at(key, i, from, sm, action);
      const best = model.at(key, i, from, sm, bestAction);
      const flow = model.layers.tested
        ? model.monitor_states.reduce((total, _, m) => total + model.at("tested", i, from, m, action), 0) : 0;
      return {
        from, sm, action, p, value, best, bestAction, gap: best - value, flow,
        visits: model.at("visits", i, from, sm, action),
        seen: model.at("seen", i, from, sm, action),
        status: model.at("status", i, from, sm, action),
        pinned: this.whyPinned(from, sm, action),
      };
    }

    wayInWords(way) {
      const { model } = this.app;
      const title = model.valueKey === "q" ? "Q" : "Q_opt";
      const chance = way.p < 0.9995 ? ` (leads here with probability ${number(way.p)})` : "";
      let words = `from ${model.states[way.from]} ${model.actions[way.action]}${chance}: `;
      words += way.visits ? `tried ${times(way.visits)}` : "never tried";
      if (model.nMonitor > 1 && !model.pooled) words += ` with monitor ${model.monitor_states[way.sm]}`;
      if (way.seen) words += `, reward shown ${times(way.seen)}${model.nMonitor > 1 ? " in any monitor state" : ""}`;
      else if (way.visits && way.status === 2) words += `, reward never shown, treated as ${model.unseenInWords()}`;
      else words += ", reward never shown";
      words += `; ${title} ${number(way.value)}`;
      if (way.pinned) words += ` (for some monitor action still at its optimistic initial value: ${way.pinned})`;
      if (way.action === way.bestAction || way.gap < 1e-9) return `${words}, the best there`;
      return `${words}, best there ${model.actions[way.bestAction]} ${number(way.best)}`;
    }

    ways(se, sm) {
      const ways = this.app.model.into[se].map((way) => this.way(way, sm));
      ways.sort((a, b) => (a.from === se) - (b.from === se) || b.p - a.p);
      const shown = ways.slice(0, MOST_WAYS).map((way) => {
        return html("li", { class: way.flow > RARE ? "is-taken" : null }, this.wayInWords(way));
      });
      if (ways.length > MOST_WAYS) shown.push(html("li", {}, `and ${ways.length - MOST_WAYS} more`));
      return [html("h5", {}, "Ways in"), html("ul", { class: "ex-ways" }, ...shown)];
    }

    // In a sentence or two: whether test episodes come here, how, and if not, why not. All of it is
    // computed from the snapshot's test policy, not read off the one episode that can be watched.
    why(se, sm) {
      const { model, view } = this.app;
      const here = model.testedInAll(view.i, se);
      const words = [];
      if (model.start[se] > 0) words.push(`Episodes start here${model.start[se] < 1 ? ` with probability ${number(model.start[se])}` : ""}.`);
      const ways = model.into[se].filter(({ from }) => from !== se).map((way) => this.way(way, this.usual(way.from)));
      const taken = ways.filter((way) => way.flow > RARE).sort((a, b) => b.flow * b.p - a.flow * a.p);
      if (taken.length) {
        const often = short(taken.reduce((total, way) => total + way.flow * way.p, 0), 2);
        words.push(`The test policy comes here by ${this.names(taken)}, ${often === "1" ? "once" : `${often} times`} per episode on average.`);
      } else if (model.start[se] === 0) words.push(this.whyNot(ways));
      if (here > RARE && model.nMonitor > 1 && model.tested(view.i, se, sm) <= RARE) {
        words.push(`But never with monitor ${model.monitor_states[sm]}.`);
      }
      return words.join(" ");
    }

    // The monitor's state in which test episodes are in a cell most often.
    usual(se) {
      const { model, view } = this.app;
      let most = 0;
      for (let sm = 1; sm < model.nMonitor; sm++) {
        if (model.tested(view.i, se, sm) > model.tested(view.i, se, most)) most = sm;
      }
      return most;
    }

    names(ways) {
      const { model } = this.app;
      const shown = ways.slice(0, 3).map((way) => `${model.actions[way.action]} in ${model.states[way.from]}`);
      return shown.join(", ") + (ways.length > 3 ? " and others" : "");
    }

    whyNot(ways) {
      const { model, view } = this.app;
      if (!ways.length) return "No action in another cell leads here.";
      const near = ways.filter((way) => model.testedInAll(view.i, way.from) > RARE);
      if (!near.length) return "The test policy does not come here: it is in none of the cells from which an action leads here.";
      const unseen = near.filter((way) => way.status === 2);
      const gap = near.reduce((least, way) => Math.min(least, way.gap), Infinity);
      const less = gap < 1e-6 ? "they are worth about as much as what it does there"
        : `they are worth less than what it does there, by at least ${short(gap, 2)}`;
      if (unseen.length === near.length) {
        return "The test policy avoids this cell: from where it goes, no way in has ever shown its reward, "
          + `so it counts as ${model.unseenInWords()}; ${less}.`;
      }
      const some = unseen.length ? `, and of ${this.names(unseen)} no reward was ever shown, so it counts as ${model.unseenInWords()}` : "";
      return `The test policy does not come here: there are ways in from where it goes (${this.names(near)}), but ${less}${some}.`;
    }
  }

  // ---- an episode to watch ---------------------------------------------------------------

  class Player {
    constructor(app) {
      this.app = app;
      this.timer = null;
      this.line = html("p", { class: "ex-line", "data-test": "player-line", "aria-live": "polite" });
      this.strip = html("div", { class: "ex-strip", "data-test": "player-strip", "aria-hidden": "true" });
      this.strip.addEventListener("click", (event) => {
        const t = event.target.getAttribute("data-step");
        if (t !== null) this.goTo(Number(t));
      });
      const kinds = Object.keys(app.model.rollouts).map(
        (kind) => radio(app, "kind", kind, `player-kind-${kind}`, `${kind} episode`, { t: 0 }));
      this.play = this.button("play", "M6 4v16l13-8Z", () => this.toggle());
      this.root = html("section", { class: "ex-player" },
        html("fieldset", {}, html("legend", {}, "watch an episode of this snapshot"), ...kinds),
        html("div", { class: "ex-buttons" },
          this.button("first", "M5 5h2.5v14H5ZM19 5v14L8.5 12Z", () => this.goTo(0)),
          this.button("prev", "M17 5v14L6.5 12Z", () => this.goTo(app.view.t - 1)),
          this.play,
          this.button("next", "M7 5v14l10.5-7Z", () => this.goTo(app.view.t + 1)),
          this.button("last", "M16.5 5H19v14h-2.5ZM5 5v14l10.5-7Z", () => this.goTo(Infinity))),
        this.line, this.strip, this.keys());
    }

    keys() {
      const badge = (name) => svg("svg", { viewBox: "0 0 1 1", "aria-hidden": "true" },
        svg("use", { href: `#${this.app.ids}-${name}`, width: 1, height: 1 }));
      const key = (mark, name, text) =>
        html("span", { class: "ex-key" }, html("i", { class: `ex-step ${mark}` }), badge(name), text);
      return html("div", { class: "ex-legend" }, key("is-shown", "eye-shown", "reward shown"),
        key("is-hidden", "eye-hidden", "reward hidden"),
        key("is-shown is-paid", "coin", "the monitor cost something"));
    }

    button(name, path, act) {
      const titles = { first: "first step", prev: "step back", play: "play", next: "step forward", last: "last step" };
      const title = titles[name];
      const button = html("button", { type: "button", "data-test": `player-${name}`, "aria-label": title, title },
        svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path })));
      button.addEventListener("click", () => {
        if (name !== "play") this.stop();
        act();
      });
      return button;
    }

    toggle() {
      if (this.timer !== null) return this.stop();
      const { view } = this.app;
      if (view.t >= this.episode().length) this.goTo(0);
      this.timer = setInterval(() => {
        if (!this.root.isConnected || view.t >= this.episode().length) this.stop();
        else this.goTo(view.t + 1);
      }, BEAT);
      this.showPlaying();
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.showPlaying();
    }

    showPlaying() {
      const on = this.timer !== null;
      const title = on ? "pause" : "play";
      this.play.setAttribute("aria-label", title);
      this.play.setAttribute("title", title);
      this.play.querySelector("path").setAttribute("d", on ? "M6 4h4v16H6ZM14 4h4v16h-4Z" : "M6 4v16l13-8Z");
      this.line.setAttribute("aria-live", on ? "off" : "polite");
    }

    episode() {
      const { model, view } = this.app;
      return model.episode(view.kind, view.i);
    }

    goTo(t) {
      this.app.change({ t: Math.max(0, Math.min(t, this.episode().length)) });
    }

    refresh(changed) {
      const { app } = this;
      if (changed.has("i") || changed.has("kind")) {
        this.stop();
        this.drawStrip();
      }
      const { of, begin } = this.episode();
      const { t } = app.view;
      [...this.strip.children].forEach((square, k) => {
        square.classList.toggle("is-now", k + 1 === t);
        square.classList.toggle("is-ahead", k + 1 > t);
      });
      const last = t ? { shown: of.shown[begin + t - 1] === 1, paid: of.monitor_reward[begin + t - 1] < 0 } : null;
      for (const panel of app.panels) {
        panel.place(of.state[begin + t], panel.sm === of.monitor_state[begin + t], last);
      }
      this.say();
    }

    drawStrip() {
      const { of, begin, length } = this.episode();
      this.strip.replaceChildren(...Array.from({ length }, (_, k) => {
        const paid = of.monitor_reward[begin + k] < 0 ? " is-paid" : "";
        const shown = of.shown[begin + k] ? "is-shown" : "is-hidden";
        return html("i", { class: `ex-step ${shown}${paid}`, "data-step": k + 1, title: `step ${k + 1}` });
      }));
    }

    say() {
      const { model, view } = this.app;
      const { of, begin, length } = this.episode();
      const { t } = view;
      const monitor = model.monitor_states[of.monitor_state[begin + t]];
      const where = model.states[of.state[begin + t]] + (model.nMonitor > 1 ? `, monitor ${monitor}` : "");
      if (t === 0) {
        this.line.className = "ex-line";
        this.line.replaceChildren(`start: at ${where}; the episode takes ${length} step${length === 1 ? "" : "s"}`);
        return;
      }
      const at = begin + t - 1;
      const shown = of.shown[at] === 1;
      const monitorAction = model.monitor_actions.length > 1 ? ` + ${model.monitor_actions[of.monitor_action[at]]}` : "";
      const reward = shown ? `reward SHOWN ${number(of.reward[at])}` : `reward HIDDEN (it was ${number(of.reward[at])})`;
      this.line.className = `ex-line ${shown ? "is-shown" : "is-hidden"}`;
      const did = `step ${t}: ${model.actions[of.action[at]]}${monitorAction} → `;
      const paid = ` · monitor's reward ${number(of.monitor_reward[at])} · return so far ${short(this.returned(t))}`;
      this.line.replaceChildren(did, html("strong", {}, reward), `${paid} · now at ${where}${this.ending(t)}`);
    }

    returned(t) {
      const { of, begin } = this.episode();
      let sum = 0;
      for (let k = 0; k < t; k++) sum += this.app.model.gamma ** k * (of.reward[begin + k] + of.monitor_reward[begin + k]);
      return sum;
    }

    ending(t) {
      const { length, terminated } = this.episode();
      if (t < length) return "";
      if (terminated) return " · the episode ended";
      return length < this.app.model.time_limit ? " · the rest is not shown" : " · cut at the time limit";
    }
  }

  // ---- all of it -------------------------------------------------------------------------

  class App {
    constructor(model) {
      this.model = model;
      this.ids = `ex${++mounted}`;
      this.tileOf = tilesOf(model.world);
      const shapes = model.nStates * model.nMonitor * model.nActions;
      this.divided = model.perAction && shapes <= MOST_SHAPES;
      this.regions = this.divided ? regionsOf(model.actions) : [{ path: "M0 0h1v1H0Z", turn: null }];
      const kinds = Object.keys(model.rollouts);
      this.view = {
        i: model.snapshots.step.length - 1, layer: model.shown.length ? model.shown[0].key : null,
        arrows: this.divided, kind: kinds[0], t: 0, selected: { sm: 0, se: this.cellToBeginWith() },
      };
      this.panels = model.monitor_states.map((_, sm) => new Panel(this, sm));
      this.boards = html("div", { class: "ex-panels" }, ...this.panels.map((panel) => panel.root));
      this.controls = new Controls(this);
      this.timeline = new Timeline(this);
      this.detail = new Detail(this);
      this.player = kinds.length ? new Player(this) : null;
    }

    // A cell that can be entered without ever seeing the reward, if there is one.
    cellToBeginWith() {
      const { model } = this;
      const unseen = (ways, se) => ways.some((way) => way.from !== se && model.neverObservable(way.from, way.action));
      return Math.max(0, model.into.findIndex(unseen));
    }

    get layer() {
      return this.model.shown.find((layer) => layer.key === this.view.layer);
    }

    build(root) {
      const { model } = this;
      const { boards } = this;
      const widest = model.world.rows > 12 ? 340 : 720; // many rows: small cells, or the page gets long
      boards.style.setProperty("--ex-least", `${model.world.columns * SMALLEST_CELL}px`);
      boards.style.setProperty("--ex-board", `${Math.min(Math.max(model.world.columns * 42, 210), widest)}px`);
      const main = html("div", { class: "ex-main" }, this.controls.root, boards, this.player ? this.player.root : "");
      root.append(this.definitions(), ...notes(model),
        this.timeline.root, html("div", { class: "ex-columns" }, main, this.detail.root));
      this.refresh(new Set(["i", "layer", "arrows", "kind", "t", "selected"]));
    }

    // Drawings and patterns that the boards refer to.
    definitions() {
      const { world } = this.model;
      const { ids } = this;
      const symbol = (name, text) => svg("symbol", { id: `${ids}-${name}`, viewBox: "0 0 1 1" }, drawing(text));
      const pattern = (name, ...parts) => svg("pattern",
        { id: `${ids}-${name}`, width: 0.17, height: 0.17, patternUnits: "userSpaceOnUse" },
        svg("rect", { width: 0.17, height: 0.17, class: `ex-${name}` }), ...parts);
      const stroke = (name, d) => svg("path", { d, class: `ex-${name}-mark` });
      return svg("svg", { class: "ex-definitions", "aria-hidden": "true" }, svg("defs", {},
        symbol("robot", world.robot),
        ...badges(ids),
        ...(world.button ? [symbol("button", world.button.svg)] : []),
        ...world.tiles.map((tile, k) => symbol(`tile-${k}`, tile.svg)),
        pattern("status-0", svg("circle", { cx: 0.085, cy: 0.085, r: 0.022, class: "ex-status-0-mark" })),
        pattern("status-1"),
        pattern("status-2", stroke("status-2", "M.045 .045L.125 .125M.125 .045L.045 .125")),
        pattern("untried", stroke("untried", "M-.04 .04L.04 -.04M0 .17L.17 0M.13 .21L.21 .13"))));
    }

    select(sm, se) {
      this.panels[sm].focusOn(se, se);
      this.change({ selected: { sm, se } });
      if (matchMedia("(max-width: 899px)").matches) scrollTo(this.detail.root); // it is far below the map
    }

    change(what) {
      Object.assign(this.view, what);
      this.refresh(new Set(Object.keys(what)));
    }

    refresh(changed) {
      const any = (...names) => names.some((name) => changed.has(name));
      if (any("i")) this.timeline.refresh();
      if (any("i", "layer")) this.controls.refresh();
      if (any("i", "layer", "arrows")) for (const panel of this.panels) panel.refresh();
      if (any("selected")) for (const panel of this.panels) panel.mark(this.view.selected);
      if (any("i", "selected")) this.detail.refresh();
      if (this.player && any("i", "kind", "t")) this.player.refresh(changed);
    }
  }

  // An open eye, one that is struck out, and a coin; bold, as they are drawn small.
  function badges(ids) {
    const badge = (name, ...parts) => svg("symbol", { id: `${ids}-${name}`, viewBox: "0 0 1 1" },
      svg("circle", { cx: 0.5, cy: 0.5, r: 0.44, class: `ex-${name}` }), ...parts);
    const eye = () => [svg("path", { d: "M.17 .5Q.5 .1 .83 .5Q.5 .9 .17 .5Z", class: "ex-lid" }),
      svg("circle", { cx: 0.5, cy: 0.5, r: 0.13, class: "ex-pupil" })];
    const line = (name, d) => svg("path", { d, class: `ex-${name}` });
    return [
      badge("eye-shown", ...eye()),
      badge("eye-hidden", ...eye(), line("gap", "M.16 .84L.84 .16"), line("struck", "M.19 .81L.81 .19")),
      badge("coin", line("coin-mark", "M.64 .36A.2 .2 0 1 0 .64 .64M.5 .18V.82")),
    ];
  }

  // [state] which tile stands there; undefined in a world without a map.
  function tilesOf(world) {
    const byCell = new Map();
    world.tiles.forEach((tile, k) => tile.cells.forEach((cell) => byCell.set(cell.join(), k)));
    return world.cells.map((cell) => byCell.get(cell.join()));
  }

  function notes(model) {
    return model.notes.map((note) => html("p", { class: "ex-note" }, note));
  }

  return async function mountExplorer(root, data) {
    const model = await unpackAll(data);
    if (!model.snapshots) {
      root.append(...notes(model));
      return;
    }
    new App(new Model(model)).build(root);
  };
})();
