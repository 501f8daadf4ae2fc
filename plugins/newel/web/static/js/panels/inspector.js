/** The selected call of a run: what it was given, what came of it, what it cost, and where it failed. */
import { html } from "../../vendor/preact.js";
import { count, duration, money, precise, visible } from "../format.js";
import { callWith, isUnreported, responses } from "../log.js";
import { pytestOf } from "../reproduce.js";
import { toSession } from "../route.js";
import { events, modelCalls, session, turns } from "../store.js";
import { CopyButton, Fold, Icon, Json } from "../ui.js";
import { failedItself, retriesOf } from "./tree.js";

/** @typedef {import("./tree.js").Node} Node */

/** @param {{ node: Node }} props */
export function Inspector({ node }) {
  const at = /** @type {any} */ (session.value);
  const event = node.event === null ? null : events.value[node.event];
  const turn = turns.value.find((one) => one.entries.some((entry) => entry.index === node.event));
  const call = modelCalls.value.find((one) => one.entry.index === node.event);
  const id = node.attributes["gen_ai.tool.call.id"];
  const made = callWith(events.value, id);
  const result = event && id !== undefined ? responses(event).find((one) => one.id === id)?.response : undefined;
  return html`<div class="insp bordered"><h2>${node.error && html`<${Icon} name="x" kind="bad" />`}<span>${visible(node.name)}</span>${failedItself(node) && html`<span class="st bad">failed</span>`}${node.asks && html`<span class="st warn">asks</span>`}
      <span class="grow"></span>${node.event !== null && html`<a class="b quiet" href=${toSession(at.app, at.id, "events", node.event + 1)}>Event ${node.event + 1}</a>`}
      ${call && html`<a class="b quiet" href=${toSession(at.app, at.id, "chain", call.number, "final")} title="What the model was sent, and which plugin wrote each line">Show the prompt</a>`}
      <${CopyButton} text=${() => JSON.stringify(event ?? node.attributes, null, 2)} label="Copy the JSON">JSON<//>
      ${turn && html`<${CopyButton} text=${() => pytestOf(at, turn)} label="Copy the run as a test">pytest<//>`}</h2>
    ${node.error && html`<div class="err">${visible(node.error)}</div>`}
    <div class="two"><dl class="dl"><dt>started</dt><dd>${precise(node.began)}</dd><dt>took</dt><dd>${duration(node.ended - node.began)}</dd>
        ${node.kind === "model" && html`<dt>model</dt><dd><code>${node.detail}</code></dd><dt>first token</dt><dd>${firstOf(node)}</dd>`}
        ${node.kind === "retry" && html`<${Again} node=${node} />`}</dl>
      ${node.usage.calls > 0 && html`<${Tokens} node=${node} />`}</div>
    ${node.kind === "model" && retriesOf(node).length > 0 && html`<${Tries} node=${node} />`}
    ${failedItself(node) && node.kind !== "retry" && html`<${Place} node=${node} />`}
    ${made && html`<div><h3>arguments</h3><${Json} value=${made.args ?? {}} /></div>`}
    ${result !== undefined && html`<div><h3>result</h3><${Long} value=${result} /></div>`}
    ${node.kind === "model" && event?.content && html`<div><h3>answer</h3><${Long} value=${event.content.parts} /></div>`}</div>`;
}

/** When the first token came, or why that is not known. @param {Node} node */
const firstOf = (node) => (node.first !== null ? `after ${duration(node.first)}` : node.stored ? "not recorded" : "came whole: the run did not stream");

/** @param {{ node: Node }} props */
const Tokens = ({ node: { usage } }) => isUnreported(usage) ? html`<dl class="dl"><dt>tokens</dt><dd>not reported by the model</dd></dl>` : html`<dl class="dl"><dt>in</dt><dd>${count(usage.in)}, of it cached ${count(usage.cached)}, written ${count(usage.written)}</dd>
  <dt>out</dt><dd>${count(usage.out)}, of it reasoning ${count(usage.reasoning)}</dd><dt>cost</dt><dd>${money(usage.cost, usage.incomplete && usage.cost !== null)}</dd></dl>`;

/** Why a model was asked again. @param {{ node: Node }} props */
function Again({ node: { attributes } }) {
  const model = attributes["newel.retry.model"];
  return html`<dt>because</dt><dd class="bad">${visible(attributes["newel.error"] ?? attributes["newel.retry.error_type"])}</dd><dt>by</dt><dd><code>${attributes["newel.retry.policy"]}</code></dd>
    ${model && html`<dt>then asked</dt><dd><code>${model}</code></dd>`}`;
}

/** The tries of a model's call, each with its cause and what followed. @param {{ node: Node }} props */
const Tries = ({ node }) => html`<div><h3>tries</h3><table class="tries"><colgroup><col style="width:48px" /><col /><col style="width:220px" /><col style="width:80px" /></colgroup><thead><tr><th class="num">try</th><th>what came</th><th>then</th><th class="num">waited</th></tr></thead><tbody>
  ${retriesOf(node).map((one, n) => html`<tr><td class="num">${n + 1}</td><td class="bad" title=${one.attributes["newel.error"]}>${visible(one.attributes["newel.error"] ?? one.attributes["newel.retry.error_type"])}</td>
    <td><code>${one.attributes["newel.retry.policy"]}</code> asked ${one.attributes["newel.retry.model"] ?? "again"}</td><td class="num">${duration(one.ended - one.began)}</td></tr>`)}
  <tr><td class="num">${retriesOf(node).length + 1}</td><td>${node.error ? html`<span class="bad">${visible(node.error)}</span>` : "the answer"}</td><td></td><td></td></tr></tbody></table></div>`;

/** Where something failed: the innermost of the person's own lines with those around it, and the way there. @param {{ node: Node }} props */
function Place({ node }) {
  const frames = node.frames;
  const last = frames[frames.length - 1];
  if (!last) {
    return html`<p class="q2 small">${node.stored ? "Where it failed is not stored: only the server that ran it knows, while it lasts." : node.kind === "tool" ? "No code of yours raised it: the result says it." : "No line of your code is in its traceback."}</p>`;
  }
  return html`<div><h3>${visible(last.file)}:${last.line} in ${visible(last.function)}</h3><${Source} frame=${last} />
    ${frames.length > 1 && html`<${Fold} label=${`Traceback, ${frames.length} lines of your code`}>${frames.map((/** @type {any} */ one) => html`<h3>${visible(one.file)}:${one.line} in ${visible(one.function)}</h3><${Source} frame=${one} />`)}<//>`}</div>`;
}

/** @param {{ frame: any }} props */
const Source = ({ frame }) => html`<div class="diff src" tabindex="0">${frame.source.map((/** @type {string} */ text, /** @type {number} */ n) => {
  const here = frame.first + n === frame.line;
  return html`<div class=${here ? "del" : ""}><span>${frame.first + n}</span><span>${here ? "×" : ""}</span><span>${visible(text)}</span></div>`;
})}</div>`;

/** A result of which 12 lines are shown. @param {{ value: unknown }} props */
function Long({ value }) {
  const lines = JSON.stringify(value, null, 2).split("\n");
  if (lines.length <= 13) return html`<pre class="json" tabindex="0">${lines.join("\n")}</pre>`;
  return html`<pre class="json" tabindex="0">${lines.slice(0, 12).join("\n")}</pre><${Fold} label=${`${lines.length - 12} more lines`}><pre class="json" tabindex="0">${lines.slice(12).join("\n")}</pre><//>`;
}
