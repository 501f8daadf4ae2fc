/** The graph: agents, tools and nodes in layers, and the way of the chosen run, with calls, tokens and time at each. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { count, duration, money, plural, visible } from "../format.js";
import { route, toSession } from "../route.js";
import { events, questions, session, spans, turns } from "../store.js";
import { CopyButton, Empty, Failure, Seg } from "../ui.js";
import { factsOf, layout } from "./layout.js";
import { treeOf } from "./tree.js";

const WIDTH = 220, HEIGHT = 66;

export default function Graph() {
  const at = session.value;
  const picture = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  useEffect(() => { if (at) get("show_picture", { app_name: at.app }).then((one) => { picture.value = one; }, (error) => { failed.value = error; }); }, [at?.app]);
  if (failed.value) return html`<${Failure} error=${failed.value} />`;
  if (!at || !picture.value) return null;
  const ofAll = route.value.rest[0] === "all";
  const shown = ofAll ? turns.value : turns.value.slice(-1);
  const open = questions.value.filter((one) => one.sessionId === at.id);
  const trees = shown.map((one) => treeOf(spans.value, one.id, events.value, open)).filter((one) => one !== null);
  const facts = factsOf(trees);
  const placed = layout(picture.value, WIDTH, HEIGHT);
  if (!placed.nodes.length) return html`<${Empty} title="There is no graph to draw">This app is made of nothing that the drawing knows.<//>`;
  const told = (/** @type {string} */ name) => { const fact = facts.get(name); return fact ? `: ${wordsOf(fact).join(", ")}` : ""; };
  const text = () => placed.nodes.map((one) => `${"  ".repeat(one.depth)}${one.name}${told(one.name)}`).join("\n");
  const link = (/** @type {string} */ which) => toSession(at.app, at.id, "graph", which);
  const stored = trees.some((one) => one.stored);
  return html`<div class="head"><b>${ofAll ? "All runs" : `Run ${turns.value.length}`}</b><span class="q2 hide-s">the way is blue</span><span class="grow"></span>
      <${Seg} label="Runs" chosen=${ofAll ? "all" : "last"} options=${[{ name: "last", label: "This run", href: link("last") }, { name: "all", label: "All runs", href: link("all") }]} /><${CopyButton} text=${text} label="Copy as text">Copy as text<//></div>
    ${stored && html`<div class="pad q2 small">Read from the stored events, which know agents and tools, and not the nodes that are neither.</div>`}
    <div class="scroll graph pad" tabindex="0"><svg viewBox=${`0 0 ${placed.width} ${placed.height}`} role="img" aria-label=${text()} style=${`width:${placed.width}px`}>
      ${placed.edges.map((one) => html`<${Edge} ...${one} on=${facts.has(one.from.name) && facts.has(one.end.name)} />`)}
      ${placed.nodes.map((one) => html`<${Box} node=${one} fact=${facts.get(one.name)} />`)}</svg></div>`;
}

/** @param {any} props */
function Edge({ from, end, label, on }) {
  const x = from.x + WIDTH / 2, top = from.y + HEIGHT, to = end.x + WIDTH / 2;
  const back = end.y <= from.y;
  const path = back ? `M${from.x + WIDTH} ${from.y + HEIGHT / 2}h12V${end.y - 10}H${to}v10` : `M${x} ${top}V${end.y - 28}H${to}V${end.y}`;
  return html`<path class=${on ? "on" : ""} d=${path} />${label && html`<text class="s" x=${(back ? from.x + WIDTH + 16 : to + 4)} y=${back ? from.y + HEIGHT / 2 : end.y - 6}>${visible(label)}</text>`}`;
}

/** @param {any} props */
function Box({ node, fact }) {
  const lines = fact ? wordsOf(fact) : [node.kind === "tool" || node.kind === "toolset" ? "not called" : node.kind === "start" ? "" : "took no part"];
  return html`<g class=${fact ? "on" : "off"}><title>${visible(`${node.detail}${node.about ? `: ${node.about}` : ""}`)}</title><rect x=${node.x} y=${node.y} width=${WIDTH} height=${HEIGHT} rx="4" /><text class="h" x=${node.x + 12} y=${node.y + 21}>${visible(node.name).slice(0, 28)}</text>
    ${lines.slice(0, 2).map((text, n) => html`<text class=${`s ${text.startsWith("✕") ? "fail" : ""}`} x=${node.x + 12} y=${node.y + 39 + n * 16}>${text}</text>`)}</g>`;
}

/** What a node did, in at most two lines. @param {import("./layout.js").Fact} fact @returns {string[]} */
function wordsOf(fact) {
  const ran = `${plural(fact.runs, fact.tool ? "call" : "run")}, ${duration(fact.seconds)}`;
  if (fact.failed) return [ran, `✕ ${fact.failed} failed`];
  if (!fact.usage.calls) return [ran];
  const used = `${plural(fact.usage.calls, "model call")}, ${count(fact.usage.in)} in, ${count(fact.usage.out)} out`;
  return [used, `${duration(fact.seconds)}${fact.usage.cost === null ? "" : `, ${money(fact.usage.cost)}`}`];
}
