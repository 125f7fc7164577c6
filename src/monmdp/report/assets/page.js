"use strict";

/* Filters, tables, settings, themes: what makes the page move. */

// ---- filters ---------------------------------------------------------------------------------

const filters = [...document.querySelectorAll("select[data-filter]")];

/** Whether something with these marks is to be shown; a mark that is not there does not count. */
function wanted(marks) {
  return filters.every((filter) => {
    const mark = marks[filter.dataset.filter];
    return filter.value === "" || mark === undefined || mark === filter.value;
  });
}

function applyFilters() {
  document.documentElement.classList.toggle("filtered", filters.some((filter) => filter.value !== ""));
  for (const node of document.querySelectorAll("[data-world], tr[data-agent], [data-agents]")) {
    const agents = node.dataset.agents ? JSON.parse(node.dataset.agents) : null;
    const chosen = filters.find((filter) => filter.dataset.filter === "agent")?.value;
    node.hidden = !wanted(node.dataset) || Boolean(agents && chosen && !agents.includes(chosen));
  }
  for (const line of document.querySelectorAll("g[data-agent]")) {
    line.style.display = wanted({ agent: line.dataset.agent }) ? "" : "none";
  }
  for (const table of document.querySelectorAll("table[data-table]")) {
    const rows = [...table.tBodies[0].rows];
    const shown = rows.filter((row) => !row.hidden).length;
    const note = table.closest(".table").querySelector(".count");
    const noun = rows.length === 1 ? "row" : "rows";
    if (note) note.textContent = shown === rows.length ? `${shown} ${noun}` : `${shown} of ${rows.length} ${noun}`;
  }
  for (const node of document.querySelectorAll(".row, .figure:has(.row)")) {
    node.hidden = node.querySelector(".panel:not([hidden])") === null;
  }
  for (const chapter of document.querySelectorAll(".chapter:has(.setting)")) {
    chapter.querySelector(".nothing").hidden = chapter.querySelector(".setting:not([hidden])") !== null;
  }
  const sections = [...document.querySelectorAll("details.setting")];
  const shown = sections.filter((section) => !section.hidden).length;
  const status = document.getElementById("shown");
  if (status) status.textContent = `${shown} of ${sections.length} settings`;
  document.dispatchEvent(new Event("filtered"));
}

filters.forEach((filter) => filter.addEventListener("change", applyFilters));
document.getElementById("clear")?.addEventListener("click", () => {
  filters.forEach((filter) => { filter.value = ""; });
  applyFilters();
});

// ---- tables as CSV ---------------------------------------------------------------------------

/**
 * What may be read back exactly: quoted where need be, missing values empty. Words that spreadsheets
 * would take for a formula begin with an apostrophe.
 */
function csv(columns, rows) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function download(name, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

for (const button of document.querySelectorAll("button[data-csv]")) {
  button.addEventListener("click", () => {
    const name = button.dataset.csv, { file, columns, rows } = DATA.tables[name];
    const table = document.querySelector(`table[data-table="${CSS.escape(name)}"]`);
    const shown = rows.filter((_, i) => !table.tBodies[0].rows[i].hidden);
    download(file, csv(columns, shown));
  });
}

// ---- learning curves of a setting ------------------------------------------------------------

const SCORES = {
  episode_return: "discounted return of a test episode",
  goal_visits: "visits to the goal per test episode",
  bottom_visits: "visits to ⊥ per test episode",
};

const HINT = matchMedia("(pointer: coarse)").matches
  ? "tap to read values" : "drag to zoom; point, or use the arrow keys, to read values";

/** Exponential moving average, 0.9 old and 0.1 new. */
function smoothed(values) {
  const result = Float64Array.from(values);
  for (let i = 1; i < result.length; i++) result[i] = 0.9 * result[i - 1] + 0.1 * result[i];
  return result;
}

/** Inflate what is drawn of a score of one configuration. */
async function loaded(packed, score) {
  const of = packed[score];
  const spread = async (part) => part && {
    half: await unpack(part.half),
    iqm: part.iqm && await unpack(part.iqm),
    iqmHalf: part.iqm_half && await unpack(part.iqm_half),
    seeds: part.of_seeds && { ...part.of_seeds, at: await unpack(part.of_seeds.at) },
  };
  const mean = await unpack(of.mean);
  const x = Float64Array.from({ length: packed.count }, (_, i) => i * packed.every);
  return {
    x, raw: { mean, ...(await spread(of.raw)) },
    smooth: of.smooth && { mean: smoothed(mean), ...(await spread(of.smooth)) },
  };
}

class Setting {
  constructor(section) {
    this.section = section;
    this.data = DATA.settings[section.id];
    this.options = section.querySelector(".options");
    this.agents = new Set(this.data.curves.map((curve) => curve.label));
    this.charts = {};
  }

  async mount() {
    this.packed = this.data.curves.map((curve) => DATA.curves[curve.curves]);
    this.loaded = {};
    for (const score of Object.keys(SCORES)) {
      this.loaded[score] = await Promise.all(this.packed.map((packed) => loaded(packed, score)));
      const root = this.section.querySelector(`[data-score="${score}"]`);
      const words = this.data.words?.[score] ?? SCORES[score];
      this.charts[score] = new Chart(root, {
        title: `${this.data.title}: ${words}`, xLabel: "training steps", xName: "step",
        yLabel: words, height: score === "episode_return" ? 360 : 240,
        hint: score === "episode_return" ? HINT : "",
      });
    }
    if (!this.packed.some((packed) => packed.smoothed)) this.option("smooth").closest("label").remove();
    this.options.addEventListener("change", () => this.draw());
    this.legend();
    document.addEventListener("filtered", () => this.draw());
    this.draw();
  }

  option(name) {
    return this.options.querySelector(`[name="${name}"]`);
  }

  on(name) {
    return this.option(name)?.checked ?? false;
  }

  /** Buttons that show and hide an agent. */
  legend() {
    const root = this.section.querySelector(".legend");
    root.replaceChildren(...this.data.curves.map((curve, i) => {
      const n = this.packed[i].seeds.length;
      const button = element("button", { type: "button", "aria-pressed": "true", "data-label": curve.label },
        swatch(curve), ` ${curve.label} (n = ${n}${n < curve.asked ? ` of ${curve.asked}` : ""})`);
      button.addEventListener("click", () => {
        if (!this.agents.delete(curve.label)) this.agents.add(curve.label);
        button.setAttribute("aria-pressed", this.agents.has(curve.label));
        this.draw();
      });
      return button;
    }));
  }

  draw() {
    for (const [score, chart] of Object.entries(this.charts)) {
      const curves = this.curves(score);
      const levels = score === "episode_return" && this.on("minimax") && this.data.minimax !== null
        ? [{ label: "minimax-optimal", y: this.data.minimax }] : [];
      const view = home(curves, levels, this.data.steps);
      if (score !== "episode_return") view[2] = 0;  // visits are counted from there
      else if (this.data.range) view.splice(2, 2, ...this.data.range);
      chart.show(curves, levels, view);
    }
    this.note();
  }

  curves(score) {
    const result = [];
    this.data.curves.forEach((curve, i) => {
      if (!this.isShown(curve)) return;
      const { x, raw, smooth } = this.loaded[score][i];
      const of = (this.on("smooth") && smooth) || raw;
      // No mean of visits is negative.
      const least = score === "episode_return" ? -Infinity : 0;
      const band = (y, half) => this.on("intervals") && Number.isFinite(half[0])
        ? { low: y.map((v, j) => Math.max(least, v - half[j])), high: y.map((v, j) => v + half[j]) } : {};
      const faint = this.on("seeds") && of.seeds ? seeds(of.seeds, this.packed[i]) : [];
      const common = { colour: curve.colour, dash: curve.dash, x };
      const isReturn = score === "episode_return";
      if (this.on("mean") || !isReturn) {
        result.push({ ...common, label: curve.label, y: of.mean, faint, ...band(of.mean, of.half) });
      }
      if (isReturn && this.on("iqm")) {
        const label = this.on("mean") ? `${curve.label}, IQM` : curve.label;
        result.push({
          ...common, label, y: of.iqm, width: this.on("mean") ? 1 : 2,
          faint: this.on("mean") ? [] : faint, ...band(of.iqm, of.iqmHalf),
        });
      }
      if (isReturn && !this.on("mean") && !this.on("iqm") && faint.length) {
        result.push({ ...common, label: curve.label, x: faint[0].x, y: faint[0].x.map(() => NaN), faint });
      }
    });
    return result;
  }

  note() {
    const thinned = Math.max(...this.packed.map((packed) => packed.episode_return.raw.of_seeds.every));
    const text = this.on("seeds") && thinned > 1 ? `Curves of single seeds are thinned: one test in ${thinned} is drawn, rounded to 1/65,535 of their range.` : "";
    this.section.querySelector(".thinned").textContent = text;
  }

  isShown(curve) {
    return this.agents.has(curve.label) && wanted({ agent: curve.agent });
  }

  /** The returns of the agents that are shown, of all tests, as they are stored. */
  csv() {
    const columns = ["step"], parts = [];
    this.data.curves.forEach((curve, i) => {
      if (!this.isShown(curve)) return;
      const { raw } = this.loaded.episode_return[i];
      columns.push(...["mean", "mean_half_width", "iqm", "iqm_half_width"].map((c) => `${curve.label}: ${c}`));
      parts.push([raw.mean, raw.half, raw.iqm, raw.iqmHalf]);
    });
    const { x } = this.loaded.episode_return.reduce((a, b) => (b.x.length > a.x.length ? b : a));
    const value = (array, i) => (i < array.length && Number.isFinite(array[i]) ? array[i] : null);
    return csv(columns, [...x].map((step, i) => [step, ...parts.flat().map((array) => value(array, i))]));
  }
}

function seeds(packed, { every }) {
  const [n, points] = packed.at.shape;
  const x = Array.from({ length: points }, (_, i) => i * packed.every * every);
  return Array.from({ length: n }, (_, s) => ({
    x, y: x.map((_, i) => packed.low + packed.unit * packed.at[s * points + i]),
  }));
}

function swatch({ colour, dash }) {
  return shape("svg", { class: "line", width: 26, height: 8, "aria-hidden": "true" },
    shape("path", { d: "M0 4H26", stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));
}

/** A view that shows curves and bands; in the first tenth they may come from far below. */
function home(curves, levels, steps) {
  let low = Infinity, high = -Infinity;
  for (const { y, low: below, high: above } of curves) {
    const late = Math.floor(y.length / 10);
    for (let i = 0; i < y.length; i++) {
      if (!Number.isFinite(y[i])) continue;
      high = Math.max(high, y[i]);
      if (i >= late) {
        low = Math.min(low, below ? below[i] : y[i]);
        high = Math.max(high, above ? above[i] : y[i]);
      }
    }
  }
  for (const { faint = [] } of curves) {
    if (low !== Infinity) break;
    for (const { y } of faint) { low = Math.min(low, ...y); high = Math.max(high, ...y); }
  }
  for (const { y } of levels) { low = Math.min(low, y); high = Math.max(high, y); }
  if (low === Infinity) [low, high] = [0, 1];
  const least = 0.1 * Math.max(1, Math.abs(low), Math.abs(high));
  const margin = 0.08 * Math.max(high - low, least) + Math.max(0, least - (high - low)) / 2;
  return [0, steps, low - margin, high + margin];
}

const mounted = new Set();

async function mountSetting(section) {
  if (mounted.has(section)) return;
  mounted.add(section);
  const setting = new Setting(section);
  await setting.mount();
  section.querySelector("button[data-curves]").addEventListener("click", () => {
    download(DATA.tables[`${section.id}-table`].file.replace(/\.csv$/, "-curves.csv"), setting.csv());
  });
  section.dataset.ready = "yes";
}

for (const section of document.querySelectorAll("details.setting")) {
  section.addEventListener("toggle", () => { if (section.open) mountSetting(section); });
  if (section.open) mountSetting(section);
}

/** Open whatever a link leads into. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = target?.closest("details");
  if (!details) return;
  details.hidden = false;
  details.open = true;
  target.scrollIntoView();
  details.querySelector("summary").focus();
}
addEventListener("hashchange", openTarget);

// ---- performance profiles --------------------------------------------------------------------

async function mountProfile(root) {
  const data = DATA.profiles[root.id];
  const x = await unpack(data.thresholds);
  const all = await Promise.all(data.curves.map(async (curve) => ({
    label: curve.label, colour: curve.colour, dash: curve.dash, x, steps: true,
    y: await unpack(curve.y), low: await unpack(curve.low), high: await unpack(curve.high),
  })));
  const chart = new Chart(root, {
    title: "performance profiles", xName: "τ =", height: 300,
    xLabel: "normalised end return τ",
    yLabel: "fraction of runs above τ",
  });
  const show = () => chart.show(
    all.filter((curve) => wanted({ agent: curve.label })), [], [x[0], x[x.length - 1], 0, 1.02]);
  document.addEventListener("filtered", show);
  show();
}

/** Do something once, when an element comes near the window. */
function whenSeen(nodes, act) {
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      observer.unobserve(entry.target);
      act(entry.target);
    }
  }, { rootMargin: "400px" });
  nodes.forEach((node) => observer.observe(node));
}

whenSeen([...document.querySelectorAll(".profile")], mountProfile);
whenSeen([...document.querySelectorAll(".explorer")], (root) => {
  mountExplorer(root, DATA.explorers[root.id]);
});

// ---- light and dark --------------------------------------------------------------------------

const theme = document.getElementById("theme");
const setTheme = (name) => {
  document.documentElement.dataset.theme = name;
  theme.value = name;
};
try { setTheme(localStorage.getItem("monmdp-theme") ?? "auto"); } catch { setTheme("auto"); }
theme.addEventListener("change", () => {
  setTheme(theme.value);
  try { localStorage.setItem("monmdp-theme", theme.value); } catch { /* private windows */ }
});

applyFilters();
openTarget();
document.documentElement.dataset.ready = "yes";
