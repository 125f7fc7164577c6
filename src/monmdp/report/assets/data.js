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
    if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** A number with a few digits, a true minus sign, and commas in large ones. */
function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  let text = String(Number(value.toPrecision(digits)));
  if (Number.isInteger(value) || size >= 10000) text = Math.round(value).toLocaleString("en-US");
  else if (size < 1e-3) text = value.toExponential(digits - 2);
  return text.replaceAll("-", "−");
}
