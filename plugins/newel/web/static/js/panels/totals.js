/** The footer: tokens, time and money, always in this order; and what the context of a call holds. */
import { html } from "../../vendor/preact.js";
import { count, duration, money } from "../format.js";
import { isUnreported } from "../log.js";

/** @typedef {{ system: number, tools: number, results: number, talk: number }} Kinds */

/** The characters of a request by kind: tokens are estimated by them. @param {any} request @returns {Kinds} */
export function charactersOf(request) {
  const kinds = { system: 0, tools: 0, results: 0, talk: 0 };
  const length = (/** @type {unknown} */ value) => (typeof value === "string" ? value.length : JSON.stringify(value ?? "").length);
  if (request?.system_instruction) kinds.system = length(request.system_instruction);
  for (const tool of request?.tools ?? []) for (const one of tool.function_declarations ?? [tool]) kinds.tools += length(one);
  for (const content of request?.contents ?? []) {
    for (const part of content.parts ?? []) kinds[part.function_response ? "results" : "talk"] += length(part.text ?? part);
  }
  return kinds;
}

/** The same kinds in tokens, scaled to what the provider counted. @param {Kinds} kinds @param {number} total @returns {Kinds} */
export function scaled(kinds, total) {
  const characters = kinds.system + kinds.tools + kinds.results + kinds.talk || 1;
  const share = (/** @type {number} */ value) => Math.round((value / characters) * total);
  return { system: share(kinds.system), tools: share(kinds.tools), results: share(kinds.results), talk: share(kinds.talk) };
}

/** How many tokens the model's context window holds, if its span says so. @param {import("../log.js").ModelCall} call @param {any[]} spans @returns {number | null} */
export function windowOf(call, spans) {
  return spans.find((one) => one.attributes["gcp.vertex.agent.event_id"] === call.entry.event.id)?.attributes["newel.context_window"] ?? null;
}

/** @typedef {{ number: number, tokens: number, request: any, window: number | null }} Context */

/** @param {{ label: string, usage: import("../log.js").Usage, seconds: number, call?: Context | null }} props */
export function Totals({ label, usage, seconds, call }) {
  return html`<footer class="foot" aria-label=${`Totals of ${label}`}>
    <div class="tot">${isUnreported(usage) ? html`<span>The model reports no tokens</span>` : html`<span>in <b>${count(usage.in)}</b></span><span><span class="hide-m">of it </span>cached <b>${count(usage.cached)}</b></span>
      <span>written <b>${count(usage.written)}</b></span><span>out <b>${count(usage.out)}</b></span><span><span class="hide-m">of it </span>reasoning <b>${count(usage.reasoning)}</b></span>`}
      <span class="grow"></span><span>${duration(seconds)}</span><span class="money">${usage.calls ? money(usage.cost, usage.incomplete && usage.cost !== null) : ""}</span></div>
    ${call && html`<${Gauge} ...${call} />`}</footer>`;
}

/** @param {Context} props */
function Gauge({ number, tokens, request, window }) {
  const kinds = scaled(charactersOf(request), tokens);
  const entries = /** @type {[string, number][]} */ (Object.entries(kinds));
  const words = entries.map(([name, value]) => `${name} ${count(value)}`).join(", ");
  const share = window ? `, ${Math.max(1, Math.round((tokens / window) * 100))} % of ${count(window)}` : "";
  return html`<div class="gauge" role="img" aria-label=${`Context of call ${number}: ${words} tokens, estimated${share}`}>${entries.map(([, value], n) => html`<i class=${`g${n + 1}`} style=${`flex:${value}`}></i>`)}</div>
    <div class="legend"><span>Call ${number}: <b>${count(tokens)}</b><span class="hide-m"> tokens${share}</span></span><span class="grow hide-s"></span><span class="q">≈</span>
      ${entries.map(([name, value], n) => html`<span><i class=${`g${n + 1}`}></i>${name} ${count(value)}</span>`)}</div>`;
}
