/** The run: tree and waterfall in one table, what failed first, and the selected call. */
import { html, useSignal } from "../../vendor/preact.js";
import { count, duration, money, plural, visible } from "../format.js";
import { go, route, toSession } from "../route.js";
import { events, explained, hasRecordings, modelCalls, questions, running, selection, session, spans, turns } from "../store.js";
import { Button, Empty, Icon, Note, Status } from "../ui.js";
import { recordingOf } from "./recordings.js";
import { Totals, windowOf } from "./totals.js";
import { Inspector } from "./inspector.js";
import { all, failedItself, retriesOf, rowsOf, treeOf } from "./tree.js";
import { isUnreported } from "../log.js";

const ICONS = { run: "run", agent: "agent", node: "chain", model: "model", tool: "tool", retry: "retry", other: "list" };

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
  const failed = all(root).filter(failedItself);
  return html`<${Head} turn=${shown} root=${root} />
    ${root.stored && html`<div class="pad q2 small">Read from the stored events: a call lasts from the event before it to its own. First tokens, tries, graph nodes and places in the source are known only to the server that ran it, while it lasts.</div>`}
    ${failed.map((one) => html`<${Note} kind="bad" icon="x"><a href=${place(one)}><b>${visible(one.name)} failed</b></a>: ${visible(one.error).slice(0, 300)}${one.frames.length > 0 && html` <code>${placeOf(one)}</code>`}<//>`)}
    <div class="scroll" tabindex="0"><div class="tree" role="tree" aria-label=${`Run ${shown.number}`}>
      <div class="cols" aria-hidden="true"><span class="col0">call</span><span class="num c-tok">in</span><span class="num c-tok">out</span><span class="num">cost</span><span class="num">time</span>
        <span class="scale hide-s">${[0, 1, 2, 3].map((n) => html`<span class=${n % 2 ? "hide-m" : ""} style=${`left:${n * 25}%`}>${n ? duration((span * n) / 4) : "0"}</span>`)}</span></div>
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
  return nodes.find(failedItself) ?? nodes.find((one) => one.asks)
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
  const recording = call && hasRecordings(call.invocation) && recordingOf(call, modelCalls.value, explained.value);
  const tokens = call?.entry.event.usageMetadata?.promptTokenCount;
  return call && recording && tokens ? { number: call.number, tokens, request: recording.after, window: windowOf(call, spans.value) } : null;
}

/** Where it failed, in short. @param {import("./tree.js").Node} node */
function placeOf(node) {
  const last = node.frames[node.frames.length - 1];
  return `${last.file.split("/").pop()}:${last.line}`;
}

/** @param {{ turn: import("../log.js").Turn, root?: import("./tree.js").Node }} props */
function Head({ turn, root }) {
  const at = /** @type {any} */ (session.value);
  const last = turns.value.length;
  const move = (/** @type {number} */ n) => go(toSession(at.app, at.id, "run", n));
  const asks = questions.value.some((one) => one.sessionId === at.id && one.invocationId === turn.id);
  const failed = turn.entries[turn.entries.length - 1].event.errorCode;
  const tries = root ? all(root).reduce((sum, one) => sum + retriesOf(one).length, 0) : 0;
  return html`<div class="head"><${Button} kind="quiet" icon="left" label="Run before" disabled=${turn.number <= 1} onClick=${() => move(turn.number - 1)} />
    <b>Run ${turn.number} of ${last}</b><${Button} kind="quiet" icon="right" label="Next run" disabled=${turn.number >= last} onClick=${() => move(turn.number + 1)} />
    <span class="q hide-s">${plural(turn.usage.calls, "model call")}, ${plural(turn.tools, "tool call")}</span>${tries > 0 && html`<span class="st warn hide-s"><${Icon} name="retry" />asked again ${tries === 1 ? "once" : `${tries} times`}</span>`}<span class="grow"></span>
    ${asks ? html`<${Status} is="asks">waits for an answer<//>` : running.value && turn.number === last ? html`<${Status} is="running" />` : html`<${Status} is=${failed ? "failed" : "done"} />`}</div>`;
}

/** @param {any} props */
function Row({ node, depth, chosen, href, folded, fold, from, span, turn }) {
  const left = ((node.began - from) / span) * 100;
  const width = Math.max(((node.ended - node.began) / span) * 100, 0);
  const failed = failedItself(node), again = retriesOf(node).length;
  const shape = failed ? "x" : node.asks || node.kind === "retry" ? "wait" : node.kind === "model" ? "m" : node.kind === "tool" ? "t" : "agent";
  const toggle = (/** @type {Event} */ e) => { e.preventDefault(); e.stopPropagation(); fold(); };
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (!node.children.length) return;
    if ((["ArrowLeft", "h"].includes(e.key) && !folded) || (["ArrowRight", "l"].includes(e.key) && folded)) { e.preventDefault(); fold(); }
  };
  const counted = node.usage.calls > 0 && !isUnreported(node.usage);
  const name = node.kind === "run" ? `Run ${turn.number}` : node.name;
  return html`<a class=${`row ${node.kind === "run" ? "root" : ""}`} role="treeitem" data-row aria-level=${depth + 1} aria-selected=${String(chosen)} aria-expanded=${node.children.length ? String(!folded) : undefined}
    href=${href} onKeyDown=${key} onClick=${() => { selection.value = node.event; }}>
    <span class="nm" style=${`--d:${depth}`}>${node.children.length ? html`<span class="tw" onClick=${toggle}><${Icon} name=${folded ? "right" : "down"} kind="tw" /></span>` : html`<span class="tw"></span>`}
      <${Icon} name=${node.error && node.kind === "tool" ? "x" : node.asks ? "wait" : node.name === "transfer_to_agent" ? "go" : ICONS[/** @type {keyof typeof ICONS} */ (node.kind)]} kind=${failed ? "bad" : node.asks ? "warn" : ""} />
      <span class="cut"><bdi>${visible(name)}</bdi> <span class="arg"><bdi>${visible(node.detail)}</bdi></span></span>${shape === "x" && html`<span class="st bad">failed</span>`}${node.asks && html`<span class="st warn">asks</span>`}${again > 0 && html`<span class="st warn">${again + 1} tries</span>`}</span>
    <span class="num c-tok">${counted ? count(node.usage.in) : ""}</span><span class="num c-tok">${counted ? count(node.usage.out) : ""}</span>
    <span class="num">${node.usage.calls && node.usage.cost !== null ? money(node.usage.cost, node.usage.incomplete) : ""}</span><span class="num">${duration(node.ended - node.began)}</span>
    <div class="wf" style=${`--l:${left}%;--w:${width}%;--t:${node.first === null ? 0 : Math.min(100, (node.first / Math.max(node.ended - node.began, 1e-6)) * 100)}%`}><i class=${shape}></i></div></a>`;
}
