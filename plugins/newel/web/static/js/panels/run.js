/** The run: tree and waterfall in one table, what failed first, and the selected call. */
import { html, useSignal } from "../../vendor/preact.js";
import { count, duration, money, plural, precise, visible } from "../format.js";
import { go, route, toSession } from "../route.js";
import { events, explained, modelCalls, questions, running, selection, session, spans, turns } from "../store.js";
import { Button, CopyButton, Empty, Fold, Icon, Json, Note, Status } from "../ui.js";
import { callWith, responses } from "../log.js";
import { recordingOf } from "./recordings.js";
import { Totals } from "./totals.js";
import { all, rowsOf, treeOf } from "./tree.js";

const ICONS = { run: "run", agent: "agent", model: "model", tool: "tool", other: "list" };

export default function Run() {
  const folded = useSignal(/** @type {Set<string>} */ (new Set()));
  const at = session.value;
  const shown = chosenTurn();
  if (!at || !shown) return html`<${Empty} title="No run yet">Write a message: its calls appear here, with their time and price.<//>`;
  const open = questions.value.filter((one) => one.sessionId === at.id);
  const root = treeOf(spans.value, shown.id, events.value, open);
  if (!root) return html`<${Head} turn=${shown} /><div class="pad q2">${running.value ? "The run has begun." : "Nothing is known of this run but its events."}</div>`;
  numbered(root);
  const chosen = chosenNode(root);
  const place = (/** @type {any} */ node) => toSession(at.app, at.id, "run", shown.number, node.id);
  const fold = (/** @type {any} */ node) => {
    const next = new Set(folded.value);
    if (!next.delete(node.id)) next.add(node.id);
    folded.value = next;
  };
  const span = Math.max(root.ended - root.began, 1e-6);
  const failed = all(root).filter((one) => one.error && one.kind !== "run" && one.kind !== "agent");
  return html`<${Head} turn=${shown} />
    ${failed.map((one) => html`<${Note} kind="bad" icon="x"><a href=${place(one)}><b>${visible(one.name)} failed</b></a>: ${visible(one.error).slice(0, 300)}<//>`)}
    <div class="scroll" tabindex="0"><div class="tree" role="tree" aria-label=${`Run ${shown.number}`}>
      <div class="cols" aria-hidden="true"><span class="col0">call</span><span class="num c-tok">in</span><span class="num c-tok">out</span><span class="num">cost</span><span class="num">time</span>
        <span class="scale hide-s">${[0, 1, 2, 3].map((n) => html`<span style=${`left:${n * 25}%`}>${n ? duration((span * n) / 4) : "0"}</span>`)}</span></div>
      ${rowsOf(root, folded.value).map(({ node, depth }) => html`<${Row} key=${node.id} node=${node} depth=${depth} chosen=${node === chosen} href=${place(node)}
        folded=${folded.value.has(node.id)} fold=${() => fold(node)} from=${root.began} span=${span} turn=${shown} />`)}</div>
      ${chosen && html`<${Inspector} node=${chosen} />`}</div>
    <${Totals} label=${`run ${shown.number}`} usage=${root.usage} seconds=${root.ended - root.began} call=${callOf(chosen, shown.id)} />`;
}

/** The turn that the address names, or the last one. */
function chosenTurn() {
  const [first, second] = route.value.rest;
  const list = turns.value;
  if (first === "event") return list.find((one) => one.entries.some((entry) => entry.index === Number(second))) ?? list[list.length - 1];
  return list.find((one) => one.number === Number(first)) ?? list[list.length - 1];
}

/** The node that the address names; else what failed, what waits, or the dearest model call. @param {import("./tree.js").Node} root */
function chosenNode(root) {
  const [first, second] = route.value.rest;
  const nodes = all(root);
  const named = first === "event" ? nodes.find((one) => one.event === Number(second)) : nodes.find((one) => one.id === second);
  if (named) return named;
  const models = nodes.filter((one) => one.kind === "model");
  return nodes.find((one) => one.error && one.kind !== "run" && one.kind !== "agent") ?? nodes.find((one) => one.asks)
    ?? models.sort((one, other) => (other.usage.cost ?? 0) - (one.usage.cost ?? 0))[0] ?? root;
}

/** Give model calls their numbers in the session. @param {import("./tree.js").Node} root */
function numbered(root) {
  for (const node of all(root)) {
    const call = node.kind === "model" && node.event !== null ? modelCalls.value.find((one) => one.entry.index === node.event) : null;
    if (call) node.name = `call ${call.number}`;
  }
}

/** What the footer says of a model call's context. @param {import("./tree.js").Node | null} node @param {string} invocation */
function callOf(node, invocation) {
  const list = modelCalls.value.filter((one) => one.invocation === invocation);
  const call = (node?.event !== null && list.find((one) => one.entry.index === node?.event)) || list[list.length - 1];
  const recording = call && recordingOf(call, modelCalls.value, explained.value);
  const tokens = call?.entry.event.usageMetadata?.promptTokenCount;
  return call && recording && tokens ? { number: call.number, tokens, request: recording.after } : null;
}

/** @param {{ turn: import("../log.js").Turn }} props */
function Head({ turn }) {
  const at = /** @type {any} */ (session.value);
  const last = turns.value.length;
  const move = (/** @type {number} */ n) => go(toSession(at.app, at.id, "run", n));
  const asks = questions.value.some((one) => one.sessionId === at.id && one.invocationId === turn.id);
  const failed = turn.entries[turn.entries.length - 1].event.errorCode;
  return html`<div class="head"><${Button} kind="quiet" icon="left" label="Run before" disabled=${turn.number <= 1} onClick=${() => move(turn.number - 1)} />
    <b>Run ${turn.number} of ${last}</b><${Button} kind="quiet" icon="right" label="Next run" disabled=${turn.number >= last} onClick=${() => move(turn.number + 1)} />
    <span class="q hide-s">${plural(turn.usage.calls, "model call")}, ${plural(turn.tools, "tool call")}</span><span class="grow"></span>
    ${asks ? html`<${Status} is="asks">waits for an answer<//>` : running.value && turn.number === last ? html`<${Status} is="running" />` : html`<${Status} is=${failed ? "failed" : "done"} />`}</div>`;
}

/** @param {any} props */
function Row({ node, depth, chosen, href, folded, fold, from, span, turn }) {
  const left = ((node.began - from) / span) * 100;
  const width = Math.max(((node.ended - node.began) / span) * 100, 0);
  const shape = node.error && node.kind !== "agent" && node.kind !== "run" ? "x" : node.asks ? "wait" : node.kind === "model" ? "m" : node.kind === "tool" ? "t" : "agent";
  const toggle = (/** @type {Event} */ e) => { e.preventDefault(); e.stopPropagation(); fold(); };
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (!node.children.length) return;
    if ((["ArrowLeft", "h"].includes(e.key) && !folded) || (["ArrowRight", "l"].includes(e.key) && folded)) { e.preventDefault(); fold(); }
  };
  const name = node.kind === "run" ? `Run ${turn.number}` : node.name;
  return html`<a class=${`row ${node.kind === "run" ? "root" : ""}`} role="treeitem" data-row aria-level=${depth + 1} aria-selected=${String(chosen)} aria-expanded=${node.children.length ? String(!folded) : undefined}
    href=${href} onKeyDown=${key} onClick=${() => { selection.value = node.event; }}>
    <span class="nm" style=${`--d:${depth}`}>${node.children.length ? html`<span class="tw" onClick=${toggle}><${Icon} name=${folded ? "right" : "down"} kind="tw" /></span>` : html`<span class="tw"></span>`}
      <${Icon} name=${node.error && node.kind === "tool" ? "x" : node.asks ? "wait" : node.name === "transfer_to_agent" ? "go" : ICONS[/** @type {keyof typeof ICONS} */ (node.kind)]} kind=${node.error && node.kind !== "agent" && node.kind !== "run" ? "bad" : node.asks ? "warn" : ""} />
      <span class="cut"><bdi>${visible(name)}</bdi> <span class="arg"><bdi>${visible(node.detail)}</bdi></span></span>${shape === "x" && html`<span class="st bad">failed</span>`}${node.asks && html`<span class="st warn">asks</span>`}</span>
    <span class="num c-tok">${node.usage.calls ? count(node.usage.in) : ""}</span><span class="num c-tok">${node.usage.calls ? count(node.usage.out) : ""}</span>
    <span class="num">${node.usage.calls && node.usage.cost !== null ? money(node.usage.cost, node.usage.incomplete) : ""}</span><span class="num">${duration(node.ended - node.began)}</span>
    <div class="wf" style=${`--l:${left}%;--w:${width}%;--t:0%`}><i class=${shape}></i></div></a>`;
}

/** @param {{ node: import("./tree.js").Node }} props */
function Inspector({ node }) {
  const at = /** @type {any} */ (session.value);
  const event = node.event === null ? null : events.value[node.event];
  const call = modelCalls.value.find((one) => one.entry.index === node.event);
  const id = node.attributes["gen_ai.tool.call.id"];
  const made = callWith(events.value, id);
  const result = event && id !== undefined ? responses(event).find((one) => one.id === id)?.response : undefined;
  return html`<div class="insp bordered"><h2>${node.error && html`<${Icon} name="x" kind="bad" />`}<span>${visible(node.name)}</span>${node.error && node.kind !== "agent" && html`<span class="st bad">failed</span>`}${node.asks && html`<span class="st warn">asks</span>`}
      <span class="grow"></span>${node.event !== null && html`<a class="b quiet" href=${toSession(at.app, at.id, "events", node.event + 1)}>Event ${node.event + 1}</a>`}
      ${call && html`<a class="b quiet" href=${toSession(at.app, at.id, "chain", call.number, "steps")}>Show the chain</a>`}
      <${CopyButton} text=${() => JSON.stringify(event ?? node.attributes, null, 2)} label="Copy the JSON">JSON<//></h2>
    ${node.error && html`<div class="err">${visible(node.error)}</div>`}
    <div class="two"><dl class="dl"><dt>started</dt><dd>${precise(node.began)}</dd><dt>took</dt><dd>${duration(node.ended - node.began)}</dd>
        ${node.kind === "model" && html`<dt>model</dt><dd><code>${node.detail}</code></dd>`}</dl>
      ${node.usage.calls > 0 && html`<dl class="dl"><dt>in</dt><dd>${count(node.usage.in)}, cached ${count(node.usage.cached)}</dd><dt>out</dt><dd>${count(node.usage.out)}, reasoning ${count(node.usage.reasoning)}</dd>
        <dt>cost</dt><dd>${money(node.usage.cost, node.usage.incomplete && node.usage.cost !== null)}</dd></dl>`}</div>
    ${made && html`<div><h3>arguments</h3><${Json} value=${made.args ?? {}} /></div>`}
    ${result !== undefined && html`<div><h3>result</h3><${Long} value=${result} /></div>`}
    ${node.kind === "model" && event?.content && html`<div><h3>answer</h3><${Long} value=${event.content.parts} /></div>`}</div>`;
}

/** A result of which 12 lines are shown. @param {{ value: unknown }} props */
function Long({ value }) {
  const lines = JSON.stringify(value, null, 2).split("\n");
  if (lines.length <= 13) return html`<pre class="json" tabindex="0">${lines.join("\n")}</pre>`;
  return html`<pre class="json" tabindex="0">${lines.slice(0, 12).join("\n")}</pre><${Fold} label=${`${lines.length - 12} more lines`}><pre class="json" tabindex="0">${lines.slice(12).join("\n")}</pre><//>`;
}
