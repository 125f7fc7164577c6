"use strict";

/* Curves on axes. Drag to zoom, double click or Escape to see the whole again; with the keyboard,
   arrows move the cursor, + and − zoom around it. Below the picture stands what is at the cursor. */

const MARGIN = { left: 62, right: 24, top: 10, bottom: 40 };

class Chart {
  /**
   * @param root    an empty element
   * @param spec    title, xLabel, yLabel, height, and for the readout xName
   */
  constructor(root, spec) {
    this.root = root;
    this.spec = spec;
    this.curves = [];
    this.levels = [];
    this.cursor = null;
    this.zoomed = null;
    this.svg = shape("svg", {
      class: "chart", tabindex: 0, role: "img", "aria-label": spec.title, "data-test": "chart",
    });
    this.readout = element("div", { class: "readout", "aria-live": "polite", "data-test": "readout" });
    this.reset = element("button", { type: "button", class: "small", "data-test": "zoom-out" }, "whole view");
    this.reset.addEventListener("click", () => this.zoom(null));
    this.all = element("button", { type: "button", class: "small", "data-test": "zoom-all" });
    this.all.addEventListener("click", () => this.zoom(this.whole()));
    root.append(this.svg, element("div", { class: "under" }, this.readout, this.all, this.reset));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(root);
  }

  /**
   * Show other curves; the zoom stays.
   * @param curves  [{label, colour, dash, x, y, low, high, width, steps, faint: [{x, y}]}]
   * @param levels  dashed horizontal lines [{label, y}]
   * @param home    [x0, x1, y0, y1], the whole view
   */
  show(curves, levels, home) {
    Object.assign(this, { curves, levels, home });
    this.draw();
  }

  get view() {
    return this.zoomed ?? this.home;
  }

  zoom(view) {
    this.zoomed = view;
    this.draw();
  }

  draw() {
    const width = this.root.clientWidth;
    if (!width || !this.home) return;
    const height = this.spec.height;
    this.width = width;
    const [x0, x1, y0, y1] = this.view;
    const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    this.box = box;
    this.px = (x) => box.left + ((x - x0) / (x1 - x0)) * (box.right - box.left);
    this.py = (y) => box.bottom - ((y - y0) / (y1 - y0)) * (box.bottom - box.top);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    ["x0", "x1", "y0", "y1"].forEach((key, i) => this.svg.setAttribute(`data-${key}`, this.view[i]));
    const clip = `clip-${Chart.count++}`;
    this.svg.replaceChildren(
      shape("clipPath", { id: clip }, shape("rect", {
        x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
      })),
      ...this.axes(),
      shape("g", { "clip-path": `url(#${clip})` }, ...this.marks()),
      (this.pointer = shape("g", { class: "pointer" })),
    );
    this.reset.hidden = this.zoomed === null;
    this.tellOfHidden();
    this.point();
  }

  /** Say so if curves lie outside the picture, and offer to show all of them. */
  tellOfHidden() {
    const [, , low, high] = this.home;
    const values = this.curves.flatMap(({ y }) => [...y]);
    const below = values.filter((y) => y < low), above = values.filter((y) => y > high);
    const parts = [];
    if (below.length) {
      parts.push(`${short(below.length)} points lie below, down to ${short(below.reduce((a, b) => Math.min(a, b)))}`);
    }
    if (above.length) {
      parts.push(`${short(above.length)} points lie above, up to ${short(above.reduce((a, b) => Math.max(a, b)))}`);
    }
    this.all.hidden = this.zoomed !== null || !parts.length;
    this.all.textContent = `${parts.join("; ")}: show all`;
  }

  /** A view of everything. */
  whole() {
    const values = this.curves.flatMap(({ y, low, high }) => [...y, ...(low ?? []), ...(high ?? [])]);
    const there = [...values, ...this.levels.map(({ y }) => y)].filter(Number.isFinite);
    const least = there.reduce((a, b) => Math.min(a, b)), most = there.reduce((a, b) => Math.max(a, b));
    const margin = 0.05 * (most - least || 1);
    return [this.home[0], this.home[1], least - margin, most + margin];
  }

  axes() {
    const { left, right, top, bottom } = this.box;
    const [x0, x1, y0, y1] = this.view;
    const parts = [];
    for (const y of ticks(y0, y1, 5)) {
      parts.push(shape("line", { class: "grid", x1: left, x2: right, y1: this.py(y), y2: this.py(y) }));
      parts.push(shape("text", { x: left - 6, y: this.py(y) + 4, "text-anchor": "end" }, short(y)));
    }
    for (const x of ticks(x0, x1, this.width < 500 ? 3 : 6)) {
      parts.push(shape("line", { class: "grid", x1: this.px(x), x2: this.px(x), y1: top, y2: bottom }));
      parts.push(shape("text", { x: this.px(x), y: bottom + 15, "text-anchor": "middle" }, short(x)));
    }
    parts.push(shape("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }));
    const middle = (top + bottom) / 2;
    parts.push(shape("text", {
      class: "label", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})`,
    }, this.spec.yLabel));
    parts.push(shape("text", {
      class: "label", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle",
    }, this.spec.xLabel));
    return parts;
  }

  marks() {
    const parts = [];
    for (const curve of this.curves) {
      for (const seed of curve.faint ?? []) {
        parts.push(shape("path", { class: "seed", d: this.path(seed.x, seed.y), stroke: curve.colour }));
      }
    }
    for (const curve of this.curves) {
      if (curve.low) {
        const edge = [
          ...this.points(curve.x, curve.high, curve.steps),
          ...this.points(curve.x, curve.low, curve.steps).reverse(),
        ];
        parts.push(shape("path", { class: "band", d: joined(edge, "Z"), fill: curve.colour }));
      }
    }
    for (const curve of this.curves) {
      parts.push(shape("path", {
        class: "curve", d: this.path(curve.x, curve.y, curve.steps), stroke: curve.colour,
        "stroke-width": curve.width ?? 2, "stroke-dasharray": curve.dash, "data-label": curve.label,
      }));
    }
    for (const level of this.levels) {
      parts.push(shape("path", {
        class: "level", d: `M${this.box.left} ${this.py(level.y)}H${this.box.right}`,
        "data-value": level.y,
      }));
    }
    return parts;
  }

  path(x, y, steps = false) {
    return joined(this.points(x, y, steps));
  }

  /** Corners on the screen; a step keeps its height up to the next point. */
  points(x, y, steps = false) {
    const result = [];
    for (let i = 0; i < x.length; i++) {
      if (!Number.isFinite(y[i])) continue;
      const px = this.px(x[i]).toFixed(1);
      if (steps && result.length) result.push([px, result.at(-1)[1]]);
      result.push([px, this.py(y[i]).toFixed(1)]);
    }
    return result;
  }

  // ---- pointing and zooming

  listen() {
    const svg = this.svg;
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0) from = at(event);
    });
    svg.addEventListener("pointermove", (event) => {
      const [x, y] = at(event);
      this.cursor = this.unpx(x);
      this.point();
      if (from) this.pointer.append(shape("rect", {
        class: "zoom", x: Math.min(from[0], x), y: Math.min(from[1], y),
        width: Math.abs(x - from[0]), height: Math.abs(y - from[1]),
      }));
    });
    svg.addEventListener("pointerup", (event) => {
      const to = at(event);
      if (from && Math.abs(to[0] - from[0]) > 8 && Math.abs(to[1] - from[1]) > 8) {
        const xs = [from[0], to[0]].sort((a, b) => a - b).map((x) => this.unpx(x));
        const ys = [from[1], to[1]].sort((a, b) => b - a).map((y) => this.unpy(y));
        this.zoom([...xs, ...ys]);
      }
      from = null;
    });
    svg.addEventListener("pointerleave", () => {
      from = null;
      if (document.activeElement !== svg) this.cursor = null;
      this.point();
    });
    svg.addEventListener("dblclick", () => this.zoom(null));
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("blur", () => { this.cursor = null; this.point(); });
  }

  unpx(px) {
    const [x0, x1] = this.view;
    const share = (px - this.box.left) / (this.box.right - this.box.left);
    return x0 + Math.min(1, Math.max(0, share)) * (x1 - x0);
  }

  unpy(py) {
    const [, , y0, y1] = this.view;
    return y0 + ((this.box.bottom - py) / (this.box.bottom - this.box.top)) * (y1 - y0);
  }

  key(event) {
    const [x0, x1, y0, y1] = this.view;
    const here = this.cursor ?? (x0 + x1) / 2;
    const unit = event.shiftKey ? (x1 - x0) / 10 : this.spacing();
    if (event.key === "ArrowLeft") this.cursor = Math.max(x0, here - unit);
    else if (event.key === "ArrowRight") this.cursor = Math.min(x1, here + unit);
    else if (event.key === "Escape" || event.key === "0") return this.zoom(null);
    else if (event.key === "+" || event.key === "-") {
      const scale = event.key === "+" ? 0.5 : 2;
      const around = (a, b, middle) => [middle - (middle - a) * scale, middle + (b - middle) * scale];
      const xs = around(x0, x1, here);
      return this.zoom([Math.max(xs[0], this.home[0]), Math.min(xs[1], this.home[1]), y0, y1]);
    } else return;
    event.preventDefault();
    this.point();
  }

  spacing() {
    const x = this.curves[0]?.x ?? [0, 1];
    return x[1] - x[0];
  }

  /** Mark the cursor and say what the curves are there. */
  point() {
    if (!this.pointer) return;
    this.pointer.replaceChildren();
    if (this.cursor === null || !this.curves.length) {
      this.readout.replaceChildren(this.spec.hint ?? "");
      return;
    }
    const first = this.curves[0].x, x = first[nearest(first, this.cursor)];
    this.pointer.append(shape("line", {
      class: "cursor", x1: this.px(x), x2: this.px(x), y1: this.box.top, y2: this.box.bottom,
    }));
    const items = [element("span", {}, `${this.spec.xName} ${short(x)}`)];
    for (const curve of this.curves) {
      const i = nearest(curve.x, x);
      if (!Number.isFinite(curve.y[i])) continue;  // only its seeds are drawn
      const spread = curve.low && Number.isFinite(curve.low[i])
        ? ` [${short(curve.low[i])}, ${short(curve.high[i])}]` : "";
      items.push(element("span", {},
        element("i", { class: "swatch", style: `background:${curve.colour}` }),
        ` ${curve.label} ${short(curve.y[i])}${spread}`));
      this.pointer.append(shape("circle", {
        cx: this.px(curve.x[i]), cy: this.py(curve.y[i]), r: 3.5, fill: curve.colour,
      }));
    }
    this.readout.replaceChildren(...items);
  }
}
Chart.count = 0;

/** The path through some points. */
function joined(points, end = "") {
  return points.length ? `M${points.map((point) => point.join(" ")).join("L")}${end}` : "";
}

/** Round numbers between two, about n of them. */
function ticks(low, high, n) {
  const rough = (high - low) / n;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].map((m) => m * power).find((u) => u >= rough);
  const first = Math.ceil(low / unit - 1e-9), last = Math.floor(high / unit + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => +((first + i) * unit).toPrecision(12));
}

/** The index of the entry of a rising array that is nearest to a number. */
function nearest(values, wanted) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle; else high = middle;
  }
  return wanted - values[low] <= values[high] - wanted ? low : high;
}
