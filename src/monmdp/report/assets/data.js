"use strict";

/* The data of the page, and arrays on demand: deflated bytes in base64, little-endian. */

const DATA = JSON.parse(document.getElementById("data").textContent);

const KINDS = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u2: Uint16Array, u1: Uint8Array };

/** Inflate an array; its `shape` is a property of the result. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const values = new KINDS[packed.dtype](await new Response(inflated).arrayBuffer());
  values.shape = packed.shape;
  return values;
}

/** Make an HTML element; attributes by name, children are elements or text. */
function element(name, attributes = {}, ...children) {
  return dressed(document.createElement(name), attributes, children);
}

/** Make an SVG element. */
function shape(name, attributes = {}, ...children) {
  return dressed(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dressed(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** A number with four digits, a true minus sign, and commas in large ones. */
function short(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 10000) return grouped(value);
  const text = size !== 0 && size < 1e-4 ? value.toExponential(2) : String(+value.toPrecision(4));
  return text.replace("-", "−");
}

function grouped(value) {
  return Math.round(value).toLocaleString("en-US").replace("-", "−");
}
