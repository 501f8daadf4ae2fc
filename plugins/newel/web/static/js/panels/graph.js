/** The graph: agents and their tools in layers, and the way of the chosen run. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { count, duration, money, plural, visible } from "../format.js";
import { addUsage, calls, isAsking, isFailure, noUsage } from "../log.js";
import { route, toSession } from "../route.js";
import { results, session, turns } from "../store.js";
import { CopyButton, Empty, Failure, Seg } from "../ui.js";

const WIDTH = 220, HEIGHT = 66, GAP_X = 24, GAP_Y = 56;

export default function Graph() {
  const at = session.value;
  const info = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  useEffect(() => { if (at) get("app_info", { app_name: at.app }).then((one) => { info.value = one; }, (error) => { failed.value = error; }); }, [at?.app]);
  if (failed.value) return html`<${Failure} error=${failed.value} />`;
  if (!at || !info.value) return null;
  const ofAll = route.value.rest[0] === "all";
  const shown = ofAll ? turns.value : turns.value.slice(-1);
  const facts = factsOf(shown.flatMap((one) => one.entries.map((entry) => entry.event)));
  const placed = layout(info.value);
  if (!placed.nodes.length) return html`<${Empty} title="There is no graph to draw">The root of this app is no agent with tools.<//>`;
  const text = () => placed.nodes.map((one) => `${"  ".repeat(one.depth)}${one.name}${facts.get(one.name) ? `: ${wordsOf(one, facts.get(one.name)).join(", ")}` : ""}`).join("\n");
  const link = (/** @type {string} */ which) => toSession(at.app, at.id, "graph", which);
  return html`<div class="head"><b>${ofAll ? "All runs" : `Run ${turns.value.length}`}</b><span class="q2 hide-s">the way is blue</span><span class="grow"></span>
      <${Seg} label="Runs" chosen=${ofAll ? "all" : "last"} options=${[{ name: "last", label: "This run", href: link("last") }, { name: "all", label: "All runs", href: link("all") }]} /><${CopyButton} text=${text} label="Copy as text">Copy as text<//></div>
    <div class="scroll graph pad" tabindex="0"><svg viewBox=${`0 0 ${placed.width} ${placed.height}`} role="img" aria-label=${text()} style=${`max-width:${placed.width}px`}>
      ${placed.edges.map(([from, end]) => html`<path class=${facts.has(end.name) ? "on" : ""} d=${`M${from.x + WIDTH / 2} ${from.y + HEIGHT}V${from.y + HEIGHT + GAP_Y / 2}H${end.x + WIDTH / 2}V${end.y}`} />`)}
      ${placed.nodes.map((one) => html`<${Box} node=${one} fact=${facts.get(one.name)} />`)}</svg></div>`;
}

/** @param {any} props */
function Box({ node, fact }) {
  const lines = fact ? wordsOf(node, fact) : [node.tool ? "not called" : "took no part"];
  return html`<g class=${fact ? "on" : "off"}><rect x=${node.x} y=${node.y} width=${WIDTH} height=${HEIGHT} rx="4" /><text class="h" x=${node.x + 12} y=${node.y + 21}>${visible(node.name).slice(0, 28)}</text>
    ${lines.slice(0, 2).map((text, n) => html`<text class=${`s ${text.startsWith("✕") ? "fail" : ""}`} x=${node.x + 12} y=${node.y + 39 + n * 16}>${text}</text>`)}</g>`;
}

/** @param {any} node @param {any} fact @returns {string[]} */
function wordsOf(node, fact) {
  if (node.tool) return [`${plural(fact.calls, "call")}, ${duration(fact.seconds)}`, ...(fact.failed ? [`✕ ${fact.failed} failed`] : [])];
  return [`${plural(fact.usage.calls, "model call")}, ${count(fact.usage.in)} in, ${count(fact.usage.out)} out`, fact.usage.cost === null ? "" : money(fact.usage.cost)].filter(Boolean);
}

/** What each agent and tool did. @param {any[]} events */
function factsOf(events) {
  /** @type {Map<string, any>} */
  const facts = new Map();
  const of = (/** @type {string} */ name) => facts.get(name) ?? facts.set(name, { usage: noUsage(), calls: 0, seconds: 0, failed: 0 }).get(name);
  for (const event of events) {
    if (event.author !== "user") addUsage(of(event.author).usage, event);
    for (const call of calls(event)) {
      if (isAsking(call.name)) continue;
      const fact = of(call.name), result = results.value.get(call.id);
      fact.calls += 1;
      if (result) { fact.seconds += result.entry.event.timestamp - event.timestamp; if (isFailure(result.response)) fact.failed += 1; }
    }
  }
  return facts;
}

/** A place for each agent and tool, children centred below their agent. @param {any} info */
function layout(info) {
  /** @type {any[]} */
  const nodes = [];
  /** @type {[any, any][]} */
  const edges = [];
  let bottom = 0;
  const seen = new Set();
  /** @param {string} name @param {number} depth @param {number} left @returns {{ node: any, right: number }} */
  const put = (name, depth, left) => {
    seen.add(name);
    const agent = info.agents[name];
    const children = agent ? [...agent.tools.flatMap((/** @type {any} */ one) => one.functionDeclarations.map((/** @type {any} */ each) => each.name)), ...agent.sub_agents] : [];
    const node = { name, depth, x: left, y: depth * (HEIGHT + GAP_Y) + 8, tool: !agent };
    nodes.push(node);
    bottom = Math.max(bottom, node.y + HEIGHT);
    let right = left;
    const below = [];
    for (const child of children.slice(0, 200)) {
      if (seen.has(child) && info.agents[child]) continue;
      const one = put(child, depth + 1, right);
      below.push(one.node);
      edges.push([node, one.node]);
      right = one.right;
    }
    if (below.length) node.x = (below[0].x + below[below.length - 1].x) / 2;
    return { node, right: Math.max(right, left + WIDTH + GAP_X) };
  };
  const { right } = info.agents[info.rootAgentName] ? put(info.rootAgentName, 0, 8) : { right: 0 };
  return { nodes, edges, width: Math.max(right, WIDTH + 16), height: bottom + 8 };
}
