"use strict";

// --- Small helpers: text goes in as text, never as markup ---------------------------------------

const find = (selector, inside = document) => inside.querySelector(selector);
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "text", "circle", "g"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : String(child)));
  return node;
}

const number = (value) => value === null || value === undefined ? "–" : value.toFixed(4);

function table(heads, rows, caption) {
  return make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": caption }, make("table", {},
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) => i ? make("td", {}, cell) : make("th", { scope: "row" }, cell)))))));
}

// --- The parts of a story -----------------------------------------------------------------------

function metricsPart(story) {
  const rows = story.metrics.map((metric) => [metric.name,
    metric.n ? number(metric.mean) + (metric.half === null ? "" : " ± " + number(metric.half)) : "–", metric.n,
    number(metric.paper), number(metric.ceiling), metric.verdict || "–", metric.note || "–"]);
  return [make("h3", {}, "Numbers"), table(["Metric", "Ours (95 %)", "n", "Paper", "Joint", "Verdict", "Limits"], rows, "Numbers"),
    story.pairs.length ? make("ul", {}, story.pairs.map((text) => make("li", {}, text))) : null];
}

function runsPart(story) {
  const seeds = story.planned.join(", ");
  if (!story.runs.length) return [make("h3", {}, "Runs"), make("p", {}, `Not run. Planned seeds: ${seeds}. ${story.estimate}`)];
  const rows = story.runs.map((run) => [run.seed, run.status, ...run.metrics.map(number), run.time, run.memory]);
  const distinct = (key) => [...new Set(story.runs.map((run) => run[key]))].join("; ");
  return [make("h3", {}, "Runs"),
    table(["Seed", "Status", "AA", "MRR", "BWT", "FM", "Plasticity", "AA, task known", "MRR, task known", "Time", "Memory"], rows, "Runs"),
    story.estimate ? make("p", {}, story.estimate) : null,
    make("dl", {}, [["Data", "data"], ["Machine", "machine"], ["Software", "software"], ["Commit", "commit"], ["Settings", "settings"]]
      .flatMap(([title, key]) => [make("dt", {}, title), make("dd", {}, distinct(key))]))];
}

function matrixPart(story) {
  if (!story.matrix.length) return [];
  const shade = (value) => `background: rgb(${[0, 114, 178].map((end) => Math.round(255 - value * .6 * (255 - end))).join(" ")})`;
  const heads = story.matrix.map((_, i) => make("th", { scope: "col" }, i + 1));
  const rows = story.matrix.map((row, t) => make("tr", {}, make("th", { scope: "row" }, t + 1),
    row === null ? make("td", { colspan: story.matrix.length }, "not measured")
      : row.map((value) => make("td", { style: shade(value) }, value >= .995 ? "1.0" : value.toFixed(2).slice(1)))));
  return [make("h3", {}, "Accuracy matrix"), make("p", { class: "soft" }, "Row: after that many tasks. Column: accuracy on that task. Mean over runs."),
    make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Accuracy matrix" },
      make("table", { class: "matrix" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "after"), heads)), make("tbody", {}, rows)))];
}

function plot(title, label, curves, colour, marks = []) {
  const [width, height, left, bottom, top] = [320, 170, 34, 26, 8];
  const values = curves.flat();
  const low = Math.max(0, Math.min(...values) - .02), high = Math.min(1, Math.max(...values) + .02);
  const count = Math.max(...curves.map((curve) => curve.length));
  const x = (i) => left + (width - left - 8) * (count > 1 ? i / (count - 1) : .5);
  const y = (value) => top + (height - bottom - top) * (1 - (value - low) / (high - low || 1));
  const ticks = [low, (low + high) / 2, high];
  const summary = `${title}: from ${values[0].toFixed(3)} to ${curves[0].at(-1).toFixed(3)}`;
  return make("figure", {}, make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": summary },
    ticks.map((tick) => [make("line", { x1: left, x2: width - 8, y1: y(tick), y2: y(tick), stroke: "#ddd" }), make("text", { x: left - 4, y: y(tick) + 3, "text-anchor": "end" }, tick.toFixed(2))]).flat(),
    marks.map((at) => make("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, stroke: "#ccc", "stroke-dasharray": "2 3" })),
    curves.map((curve) => make("path", { d: curve.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 1.6 })),
    count <= 20 ? curves.map((curve) => curve.map((value, i) => make("circle", { cx: x(i), cy: y(value), r: 2, fill: colour }))).flat() : [],
    make("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, label)), make("figcaption", {}, title));
}

function curvesPart(story) {
  const plots = [];
  if (story.average.length) plots.push(plot("Average accuracy of the tasks learnt, one line per run", `tasks learnt (1 to ${story.average[0].values.length})`, story.average.map((run) => run.values), story.colour));
  if (story.learning) {
    const starts = story.learning.tasks.map((task, i, tasks) => i && task !== tasks[i - 1] ? i : -1).filter((i) => i > 0);
    plots.push(plot("Validation accuracy of the tasks seen, epoch by epoch, mean over runs", `${story.learning.epochs} epochs; dashed: a new task`, [story.learning.values], story.colour, starts));
  }
  return plots.length ? [make("h3", {}, "Curves"), make("div", { class: "plots" }, plots)] : [];
}

function settingsPart(story) {
  return [make("h3", {}, "Settings and where they come from"),
    table(["Setting", "Value", "Origin"], story.settings.map((line) => [line.key, line.value, line.origin]), "Settings")];
}

function commandPart(story) {
  return [make("h3", {}, "Run it again"), ...story.commands.map((command) => make("pre", {}, make("code", {}, command)))];
}

// --- The dialog ---------------------------------------------------------------------------------

const stories = JSON.parse(find("#stories").textContent);
const dialog = find("#story");

function show(name) {
  const story = stories[name];
  if (!story) return;
  find("#story-title").textContent = story.title;
  find("#story-body").replaceChildren(make("p", { class: "soft" }, make("code", {}, name)),
    ...[metricsPart, curvesPart, matrixPart, runsPart, settingsPart, commandPart].flatMap((part) => part(story)).filter(Boolean));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  history.replaceState(null, "", "#cell=" + encodeURIComponent(name));
}

dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-cell]");
  if (button) show(button.dataset.cell);
});

function follow() {
  if (location.hash.startsWith("#cell=")) show(decodeURIComponent(location.hash.slice(6)));
}
window.addEventListener("hashchange", follow);
follow();

// --- Filters ------------------------------------------------------------------------------------

const form = find("form.filters");
function filterMap() {
  const chosen = new FormData(form);
  for (const map of all(".map")) map.hidden = map.dataset.metric !== chosen.get("metric");
  for (const cell of all(".heat [data-family]")) cell.hidden = Boolean(chosen.get("family")) && cell.dataset.family !== chosen.get("family");
  for (const cell of all(".heat td")) cell.classList.toggle("dim", Boolean(chosen.get("verdict")) && cell.dataset.verdict !== chosen.get("verdict"));
}
if (form) { form.addEventListener("change", filterMap); filterMap(); }

for (const button of all("button[data-list]")) {
  button.addEventListener("click", () => {
    const { list, value } = button.dataset;
    for (const other of all(`button[data-list=${list}]`)) other.setAttribute("aria-pressed", String(other === button));
    const entries = all(`li[data-${list}]`);
    for (const entry of entries) entry.hidden = Boolean(value) && !entry.dataset[list].split(" ").includes(value.replace(" ", "-"));
    find(`#${list}-count`).textContent = `${entries.filter((entry) => !entry.hidden).length} of ${entries.length}`;
  });
}

// Printing shows what is folded away.
window.addEventListener("beforeprint", () => { for (const entry of all(".entries details")) entry.open = true; });
