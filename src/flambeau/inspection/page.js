"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const modules = data.modules, byPath = new Map(modules.map(m => [m.path, m]));
for (const m of modules) m.children = [];
for (const m of modules) if (m.parent !== null) byPath.get(m.parent).children.push(m);
const root = modules[0];
const state = { view: "tree", selected: root.path, open: new Set([""]), flowOpen: new Set([""]), search: "",
  sort: ["count", -1], more: 300 };
const view = document.getElementById("view"), detail = document.getElementById("detail"), tip = document.getElementById("tip");

// ---- words

function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(name, value);
  node.append(...children.filter(c => c !== null));
  return node;
}
function count(n) {
  if (n === null || n === undefined) return "";
  for (const [unit, size] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]])
    if (Math.abs(n) >= size) return (n / size).toPrecision(3) + " " + unit;
  return String(n);
}
function bytes(n) {
  if (n === null || n === undefined) return "";
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
    if (n >= size) return (n / size).toPrecision(3) + " " + unit;
  return n + " B";
}
function seconds(s) {
  return s === null || s === undefined ? "" : s >= 1 ? s.toPrecision(3) + " s" : s >= 1e-3 ? (s * 1e3).toPrecision(3) + " ms"
    : (s * 1e6).toPrecision(3) + " µs";
}
const percent = x => x === undefined || x === null ? "" : (x * 100).toFixed(0) + " %";
const ratio = x => x === undefined || x === null ? "" : x.toExponential(1);
const shapes = list => (list || []).map(s => "[" + s.join(", ") + "]").join(" ");
const time = m => (m.forward ?? 0) + (m.backward ?? 0);

function warnings(m) {
  const found = [];
  if (m.activation?.nonfinite) found.push(m.activation.nonfinite + " non-finite activations");
  if (m.gradient?.nonfinite) found.push(m.gradient.nonfinite + " non-finite gradients");
  if (m.dead > 0.5) found.push(percent(m.dead) + " of the units are 0 for the whole batch");
  if (m.saturated > 0.5) found.push(percent(m.saturated) + " saturated");
  for (const p of m.parameters) if (p.values?.nonfinite) found.push(p.name + " is not finite");
  if (data.ops.length && !m.calls && !m.children.length) found.push("was not called");
  return found;
}

// ---- modules as a tree

const COLUMNS = [
  ["module", m => m.path || m.name], ["input", m => shapes(m.inputs)], ["output", m => shapes(m.outputs)],
  ["parameters", m => m.count, count], ["FLOPs", m => m.flops, count], ["saved", m => m.saved, bytes],
  ["forward", m => m.forward, seconds], ["backward", m => m.backward, seconds], ["time", m => time(m), seconds],
];
if (modules.some(m => m.update !== undefined)) COLUMNS.push(["update/weight", m => m.update, ratio]);
const WIDE = new Set(["input", "saved", "forward", "backward", "update/weight"]);

function rowOf(m, flat) {
  const twist = flat ? "" : m.children.length ? (state.open.has(m.path) ? "▾" : "▸") : "";
  const name = element("td", { style: flat ? null : `padding-left:${m.depth * 1.1 + .3}em` },
    element("span", { class: "twist" }, twist), flat ? (m.path || m.name) + " " : m.name + " ",
    element("span", { class: "class" }, m.class), " ", element("span", { class: "settings" }, m.settings));
  if (m.run?.first === m.path) name.append(element("span", { class: "soft" }, `  (first of ${m.run.length} equal ones)`));
  if (m.same_as !== undefined) name.append(element("span", { class: "soft" }, `  (the same module as ${m.same_as || m.class})`));
  if (m.count && m.trainable === 0) name.append(element("span", { class: "soft" }, "  frozen"));
  if (m.training !== root.training) name.append(element("span", { class: "soft" }, m.training ? "  train" : "  eval"));
  for (const word of warnings(m)) name.append(element("span", { class: "bad" }, "  " + word));
  const row = element("tr", { class: "row" + (m.path === state.selected ? " selected" : ""), "data-path": m.path }, name);
  for (const [title, value, word] of COLUMNS.slice(1)) {
    const v = value(m), cell = element("td", { class: WIDE.has(title) ? "wide" : null });
    const whole = title === "time" ? time(root) : title === "parameters" ? root.count : title === "FLOPs" ? root.flops : 0;
    if (whole) {
      cell.classList.add("bar");
      cell.style.setProperty("--share", Math.min((v || 0) / whole, 1));
    }
    cell.append(element("span", {}, word ? word(v) : v ?? ""));
    row.append(cell);
  }
  return row;
}
function header() {
  return element("thead", {}, element("tr", {}, ...COLUMNS.map(([title]) => {
    const arrow = state.view === "table" && state.sort[0] === title ? (state.sort[1] < 0 ? " ▾" : " ▴") : "";
    return element("th", { "data-sort": title, class: WIDE.has(title) ? "wide" : null }, title + arrow);
  })));
}
function visible() {
  const found = [];
  if (state.search) {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    return modules.filter(m => words.every(w => `${m.path} ${m.class} ${m.settings}`.toLowerCase().includes(w)));
  }
  const todo = [root];
  while (todo.length) {
    const m = todo.pop();
    found.push(m);
    if (state.open.has(m.path)) todo.push(...[...m.children].reverse());
  }
  return found;
}
function drawRows(list, flat) {
  const body = element("tbody", {}, ...list.slice(0, state.more).map(m => rowOf(m, flat)));
  view.replaceChildren(element("table", {}, header(), body));
  if (list.length > state.more) {
    const more = element("button", { id: "more" }, `show more (${list.length - state.more})`);
    more.onclick = () => { state.more += 1000; draw(); };
    view.append(more);
  }
  if (!list.length) view.append(element("p", { class: "soft" }, "no module matches"));
}
function drawTable() {
  const [title, direction] = state.sort, [, value] = COLUMNS.find(([t]) => t === title) || COLUMNS[3];
  const list = (state.search ? visible() : [...modules]).sort((a, b) => {
    const x = value(a) ?? -1, y = value(b) ?? -1;
    return direction * (typeof x === "string" ? x.localeCompare(y) : x - y);
  });
  drawRows(list, true);
}

// ---- data flow: modules as boxes that open into what is in them

function boxOf(op) {
  // The outermost closed module around an op, a run of equal modules as one; or the op itself.
  if (op.path === null) return null;
  const parts = op.path === "" ? [] : op.path.split(".");
  let path = "";
  for (let i = 0; i <= parts.length; i++) {
    if (i) path = parts.slice(0, i).join(".");
    const m = byPath.get(path), again = op.again?.[path] ? "#" + op.again[path] : "";
    if (m?.run && !state.flowOpen.has("run:" + m.run.first)) return "run:" + m.run.first;
    if (!state.flowOpen.has(path)) return path + again;
  }
  return null;
}
function flowBoxes() {
  const boxes = new Map(), where = [];
  data.ops.forEach((op, i) => {
    const key = boxOf(op) ?? "op:" + i;
    if (!boxes.has(key)) boxes.set(key, { key, ops: [], from: new Map(), order: i });
    boxes.get(key).ops.push(i);
    where.push(key);
  });
  data.ops.forEach((op, i) => {
    for (const source of op.from) if (where[source] !== where[i]) boxes.get(where[i]).from.set(where[source], data.ops[source].shape);
  });
  return [...boxes.values()];
}
function titleOf(box) {
  if (box.key.startsWith("op:")) {
    const op = data.ops[+box.key.slice(3)];
    return [op.op, op.op === "input" ? "[" + op.shape.join(", ") + "]" : ""];
  }
  if (box.key.startsWith("run:")) {
    const m = byPath.get(box.key.slice(4));
    return [`${m.run.length} × ${m.class}`, m.path + " …"];
  }
  const [path, again] = box.key.split("#"), m = byPath.get(path);
  return [m.class, (m.path || m.name) + (again ? ` (call ${again})` : "")];
}
function layOut(boxes, titles) {
  const ranks = new Map(), byKey = new Map(boxes.map(b => [b.key, b])), rows = [];
  for (const box of boxes) {
    let rank = 0;
    for (const source of box.from.keys()) if (ranks.has(source)) rank = Math.max(rank, ranks.get(source) + 1);
    ranks.set(box.key, rank);
    (rows[rank] ??= []).push(box);
  }
  const width = box => Math.max(90, Math.max(...titles(box).map(t => t.length)) * 7 + 24);
  let widest = 0;
  for (const row of rows) widest = Math.max(widest, row.reduce((sum, b) => sum + width(b) + 24, 0));
  rows.forEach((row, rank) => {
    const total = row.reduce((sum, b) => sum + width(b) + 24, -24);
    let x = (widest - total) / 2;
    for (const box of row) {
      Object.assign(box, { x, y: rank * 78 + 12, w: width(box), h: 40, rank });
      x += box.w + 24;
    }
  });
  return { byKey, widest, height: rows.length * 78 };
}
function drawFlow() {
  if (!data.ops.length) {
    view.replaceChildren(element("p", { class: "soft" }, "Give inputs to inspect() to see how data flows."));
    return;
  }
  const boxes = flowBoxes(), { byKey, widest, height } = layOut(boxes, titleOf), margin = 70;
  const svg = element("svg", { width: widest + 2 * margin, height: height + 20, role: "img", "aria-label": "data flow" });
  const g = element("g", { transform: `translate(${margin},0)` });
  svg.append(g);
  let lane = 0;
  const labelled = new Set();
  for (const box of boxes) for (const [source, shape] of box.from) {
    const a = byKey.get(source);
    if (!a) continue;
    const x1 = a.x + a.w / 2, y1 = a.y + a.h, x2 = box.x + box.w / 2, y2 = box.y, far = box.rank - a.rank > 1;
    const side = widest + 14 + 9 * (lane++ % 6);
    const path = far ? `M${a.x + a.w},${a.y + a.h / 2} C${side},${a.y + a.h / 2} ${side},${box.y + box.h / 2} ${box.x + box.w},${box.y + box.h / 2}`
      : `M${x1},${y1} C${x1},${y1 + 20} ${x2},${y2 - 20} ${x2},${y2}`;
    g.append(element("path", { class: "edge" + (far ? " far" : ""), d: path, "data-from": source, "data-to": box.key }));
    if (!far && !labelled.has(source))
      g.append(element("text", { class: "shape", x: x1 + 6, y: y1 + 13 }, "[" + shape.join(", ") + "]"));
    if (!far) labelled.add(source);
  }
  for (const box of boxes) {
    const [first, second] = titleOf(box), isOp = box.key.startsWith("op:");
    const node = element("g", { class: "box" + (isOp ? "" : " module") + (box.key === state.selected ? " selected" : ""),
      "data-key": box.key, transform: `translate(${box.x},${box.y})` },
      element("rect", { width: box.w, height: box.h }),
      element("text", { x: box.w / 2, y: second ? 17 : 25, "text-anchor": "middle", "font-weight": 600 }, first),
      element("text", { x: box.w / 2, y: 32, "text-anchor": "middle", class: "shape" }, second));
    node.onclick = () => openBox(box.key);
    g.append(node);
  }
  const back = element("p", { class: "soft" }, "Click a box to open it; ", element("button", { id: "close-all" }, "close all"));
  back.querySelector("button").onclick = () => { state.flowOpen = new Set([""]); draw(); };
  view.replaceChildren(back, svg);
}
function openBox(key) {
  if (key.startsWith("op:")) {
    const op = data.ops[+key.slice(3)];
    if (op.path !== null) select(op.path);
    return;
  }
  const path = key.split("#")[0];
  state.flowOpen.add(path);
  if (!path.startsWith("run:")) state.selected = path;
  draw();
  showDetail();
}

// ---- the autograd graph

function drawGraph() {
  const nodes = data.graph;
  if (!nodes) {
    view.replaceChildren(element("p", { class: "soft" }, data.ops.length ? "The graph has too many nodes to be drawn."
      : "Give inputs to inspect() to see the graph of backward."));
    return;
  }
  const boxes = nodes.map((n, i) => ({ key: String(i), node: n, from: new Map(), order: i }));
  nodes.forEach((n, i) => n.to.forEach(j => boxes[j].from.set(String(i), nodes[j].shape)));
  const indegree = boxes.map(b => b.from.size), order = [], todo = boxes.filter(b => !b.from.size);
  while (todo.length) {
    const box = todo.shift();
    order.push(box);
    for (const j of box.node.to) if (--indegree[j] === 0) todo.push(boxes[j]);
  }
  const titles = box => [box.node.name, "[" + box.node.shape.join(", ") + "]"];
  const { byKey, widest, height } = layOut(order, titles);
  const svg = element("svg", { width: widest + 40, height: height + 20, role: "img", "aria-label": "autograd graph" });
  for (const box of order) for (const source of box.from.keys()) {
    const a = byKey.get(source), x1 = a.x + a.w / 2, x2 = box.x + box.w / 2;
    svg.append(element("path", { class: "edge", d: `M${x1},${a.y + a.h} C${x1},${a.y + a.h + 20} ${x2},${box.y - 20} ${x2},${box.y}` }));
  }
  for (const box of order) {
    const [first, second] = titles(box);
    const words = [box.node.leaf ? "a leaf: its gradient ends up in .grad" : "node of " + (box.node.path || "the model"),
      ...box.node.saved.map(s => "saved " + s)].join("\n");
    const node = element("g", { class: "box" + (box.node.leaf ? " module" : ""), "data-tip": words,
      transform: `translate(${box.x},${box.y})` }, element("rect", { width: box.w, height: box.h }),
      element("text", { x: box.w / 2, y: 17, "text-anchor": "middle", "font-weight": 600 }, first),
      element("text", { x: box.w / 2, y: 32, "text-anchor": "middle", class: "shape" }, second));
    node.onclick = () => { if (box.node.path !== null) select(box.node.path); };
    svg.append(node);
  }
  view.replaceChildren(element("p", { class: "soft" },
    "What backward() walks, from the loss down to the leaves. Hover over a node to see what it saved."), svg);
}

// ---- comparison of two checkpoints

function drawComparison() {
  const rows = data.comparison.map(c => element("tr", {}, element("td", {}, c.key), element("td", {}, c.state),
    element("td", {}, c.a ? "[" + c.a.join(", ") + "]" : ""), element("td", {}, c.b ? "[" + c.b.join(", ") + "]" : ""),
    element("td", {}, c.distance === undefined ? "" : c.distance.toPrecision(3)),
    element("td", {}, c.relative === undefined ? "" : c.relative.toPrecision(3))));
  view.replaceChildren(element("table", {}, element("thead", {}, element("tr", {},
    ...["key", "", data.names[0], data.names[1], "distance", "relative"].map(t => element("th", {}, t)))),
    element("tbody", {}, ...rows)));
}

// ---- one module in detail

function histogram(title, s, cold) {
  if (!s) return null;
  const parts = [element("h3", {}, title)];
  if (s.histogram) {
    const { low, high, counts } = s.histogram, top = Math.max(...counts), n = counts.length;
    parts.push(element("svg", { class: "histogram" + (cold ? " cold" : ""), viewBox: `0 0 ${n} 50`, preserveAspectRatio: "none" },
      ...counts.map((c, i) => element("rect", { x: i + .05, y: 50 - 50 * Math.sqrt(c / top), width: .9, height: 50 * Math.sqrt(c / top),
        "data-tip": `${(low + (high - low) * i / n).toPrecision(3)} … ${(low + (high - low) * (i + 1) / n).toPrecision(3)}: ${c}` }))));
    parts.push(element("div", { class: "soft" }, `${low} … ${high}   mean ${s.mean}   std ${s.std}   zeros ${percent(s.zeros)}`));
  }
  if (s.nonfinite) parts.push(element("div", { class: "bad" }, s.nonfinite + " non-finite"));
  return element("div", {}, ...parts);
}
function pictures(p) {
  const columns = Math.min(p.count, 8), rows = Math.ceil(p.count / columns), gap = 1;
  const canvas = element("canvas", { class: "pictures", width: columns * (p.width + gap), height: rows * (p.height + gap) });
  const context = canvas.getContext("2d"), raw = Uint8Array.from(atob(p.pixels), c => c.charCodeAt(0));
  for (let k = 0; k < p.count; k++) {
    const image = context.createImageData(p.width, p.height);
    for (let i = 0; i < p.width * p.height; i++) {
      const at = (k * p.width * p.height + i) * p.channels;
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = raw[at + (p.channels === 3 ? c : 0)];
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, (k % columns) * (p.width + gap), Math.floor(k / columns) * (p.height + gap));
  }
  return element("div", {}, element("h3", {}, p.title), canvas);
}
function showDetail() {
  const m = byPath.get(state.selected) || root, facts = element("dl", { class: "facts" });
  const share = m.count ? ` (${percent(m.count / root.count)})` : "";
  for (const [name, value] of [["class", m.class], ["settings", m.settings], ["mode", m.training ? "train" : "eval"],
    ["calls", m.calls], ["input", shapes(m.inputs)], ["output", shapes(m.outputs)],
    ["parameters", m.count ? m.count.toLocaleString("en") + share : ""], ["trainable", m.count ? m.trainable.toLocaleString("en") : ""],
    ["FLOPs", m.flops ? m.flops.toLocaleString("en") : ""], ["saved", bytes(m.saved)], ["forward", seconds(m.forward)],
    ["backward", seconds(m.backward)], ["dead units", percent(m.dead)], ["saturated", percent(m.saturated)]])
    if (value !== "" && value !== undefined) facts.append(element("dt", {}, name), element("dd", {}, String(value)));
  detail.replaceChildren(element("h2", {}, m.path || m.name), facts,
    ...warnings(m).map(w => element("p", { class: "bad" }, w)));
  for (const part of [histogram("activation", m.activation), histogram("gradient of the output", m.gradient, true)])
    if (part) detail.append(part);
  for (const p of m.parameters) {
    const words = [`[${p.shape.join(", ")}] ${p.dtype}`, p.trainable ? "" : "frozen", p.shared_with ? "shared with " + p.shared_with : "",
      p.ratio !== undefined ? "gradient/weight " + ratio(p.ratio) : "",
      p.update !== undefined ? "update/weight " + ratio(p.update) : ""].filter(Boolean).join("  ");
    detail.append(element("h3", {}, p.name + "  ", words));
    for (const part of [histogram("values", p.values), histogram("gradient", p.gradient, true)]) if (part) detail.append(part);
  }
  for (const p of m.pictures || []) detail.append(pictures(p));
}

// ---- the whole

function draw() {
  view.className = state.view;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", tab.dataset.view === state.view);
    tab.hidden = tab.dataset.view === "compare" && !data.comparison;
  }
  ({ tree: () => drawRows(visible(), Boolean(state.search)), table: drawTable, flow: drawFlow, graph: drawGraph, compare: drawComparison })[state.view]();
}
function select(path) {
  state.selected = path;
  for (const row of view.querySelectorAll("tr.row")) row.classList.toggle("selected", row.dataset.path === path);
  for (const box of view.querySelectorAll(".box")) box.classList.toggle("selected", box.dataset.key === path);
  showDetail();
}
function toggle(path, open = !state.open.has(path)) {
  open ? state.open.add(path) : state.open.delete(path);
  draw();
}
view.onclick = event => {
  const head = event.target.closest("th[data-sort]"), row = event.target.closest("tr.row");
  if (head && state.view === "table") {
    const title = head.dataset.sort;
    state.sort = [title, state.sort[0] === title ? -state.sort[1] : title === "module" ? 1 : -1];
    draw();
  } else if (row) {
    select(row.dataset.path);
    if (state.view === "tree" && !state.search && byPath.get(row.dataset.path).children.length) toggle(row.dataset.path);
  }
};
document.querySelector("nav").onclick = event => {
  const tab = event.target.closest("[role=tab]");
  if (tab) { state.view = tab.dataset.view; state.more = 300; draw(); }
};
document.getElementById("unfold").onclick = () => {
  state.open = new Set(modules.map(m => m.path));
  state.flowOpen = new Set([...modules.map(m => m.path), ...modules.filter(m => m.run).map(m => "run:" + m.run.first)]);
  draw();
};
document.getElementById("fold").onclick = () => { state.open = new Set([""]); state.flowOpen = new Set([""]); draw(); };
const search = document.getElementById("search");
search.oninput = () => {
  state.search = search.value.trim();
  if (state.view !== "table") state.view = "tree";
  state.more = 300;
  draw();
};
document.getElementById("dark").onclick = () => {
  const style = document.documentElement;
  style.dataset.theme = style.dataset.theme === "dark" ? "light" : "dark";
};
document.onkeydown = event => {
  if (event.target === search) {
    if (event.key === "Escape") { search.value = ""; search.oninput(); view.focus(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const list = state.view === "tree" ? visible() : [], at = list.findIndex(m => m.path === state.selected);
  const views = ["tree", "flow", "table", "graph"];
  if (event.key === "/") search.focus();
  else if (event.key === "d") document.getElementById("dark").onclick();
  else if (views[+event.key - 1]) { state.view = views[+event.key - 1]; draw(); }
  else if (event.key === "ArrowDown" && at < list.length - 1) select(list[at + 1].path);
  else if (event.key === "ArrowUp" && at > 0) select(list[at - 1].path);
  else if (event.key === "ArrowRight" && at >= 0) toggle(state.selected, true);
  else if (event.key === "ArrowLeft" && at >= 0) toggle(state.selected, false);
  else return;
  event.preventDefault();
  view.querySelector("tr.selected")?.scrollIntoView({ block: "nearest" });
};
document.onmousemove = event => {
  const words = event.target.closest?.("[data-tip]")?.dataset.tip;
  tip.hidden = !words;
  if (words) {
    tip.textContent = words;
    tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  }
};
function start() {
  if (matchMedia("(prefers-color-scheme: dark)").matches) document.documentElement.dataset.theme = "dark";
  const s = data.summary, numbers = [["parameters", s.parameters?.toLocaleString("en")],
    ["frozen", s.parameters > s.trainable ? count(s.parameters - s.trainable) : ""], ["size", bytes(s.bytes)],
    ["modules", s.modules], ["mode", s.training ? "train" : "eval"], ["FLOPs", count(s.flops)], ["saved", bytes(s.saved)],
    ["forward", seconds(s.forward)], ["backward", seconds(s.backward)]];
  for (const [name, value] of numbers)
    if (value !== "" && value !== undefined && value !== null)
      document.getElementById("summary").append(element("div", {}, element("dt", {}, name), element("dd", {}, String(value))));
  if (modules.length < 40) for (const m of modules) if (m.depth < 2) state.open.add(m.path);
  if (data.comparison) state.view = "compare";
  draw();
  showDetail();
}
start();
