/** The chain: one model call in three views. What each step did, who wrote each line, and what changed since the last call. */
import { html, useSignal } from "../../vendor/preact.js";
import { count, duration, plural, visible } from "../format.js";
import { ask, go, route, to, toSession } from "../route.js";
import { explained, hasRecordings, modelCalls, session, spans } from "../store.js";
import { usageOf } from "../log.js";
import { Button, CopyButton, Empty, Note, Search, Seg } from "../ui.js";
import { Unknown } from "./unknown.js";
import { Against } from "./against.js";
import { blameOf, messageLines, nameOf, ownerOf, recordingOf } from "./recordings.js";
import { Totals, windowOf } from "./totals.js";

export default function Chain() {
  const at = session.value;
  const calls = modelCalls.value;
  const number = Number(route.value.rest[0]) || calls.length;
  const call = calls[number - 1];
  if (!at || !call) return html`<${Empty} title="No model call yet">When a model was asked, each step that made its request stands here as a diff.<//>`;
  const before = calls.slice(0, number - 1).reverse().find((one) => one.agent === call.agent);
  const isHere = hasRecordings(call.invocation, before?.invocation);
  const recording = recordingOf(call, calls, explained.value);
  const view = route.value.rest[1] ?? "steps";
  const place = (/** @type {(string | number)[]} */ ...rest) => toSession(at.app, at.id, "chain", ...rest);
  const options = [{ name: "steps", label: "By step", href: place(number, "steps") }, { name: "final", label: "Final request", href: place(number, "final") }];
  if (before) options.push({ name: "against", label: `Against call ${before.number}`, href: place(number, "against", before.number) });
  const tokens = call.entry.event.usageMetadata?.promptTokenCount ?? 0;
  const body = !isHere ? html`<div class="scroll"></div>` : !recording ? html`<${Unknown} />` : view === "final" ? html`<${Final} recording=${recording} tokens=${tokens} />`
    : view === "against" && before ? html`<${Against} call=${call} other=${before} recording=${recording} />` : html`<${Steps} recording=${recording} number=${number} />`;
  return html`<div class="head"><${Button} kind="quiet" icon="left" label="Call before" disabled=${number <= 1} onClick=${() => go(place(number - 1, view))} />
      <b>Call ${number} of ${calls.length}</b><${Button} kind="quiet" icon="right" label="Next call" disabled=${number >= calls.length} onClick=${() => go(place(number + 1, view))} />
      <span class="q cut hide-m hide-s">${call.agent}</span><span class="grow"></span>${recording && html`<a class="b hide-s" href=${toSession(at.app, at.id, "replay", number)}>Replay</a>`}<${Seg} label="View of the call" options=${options} chosen=${view} /></div>
    ${body}<${Totals} label=${`call ${number}`} usage=${usageOf([call.entry.event])} seconds=${secondsOf(call)} call=${recording && tokens ? { number, tokens, request: recording.after, window: windowOf(call, spans.value) } : null} />`;
}

/** How long a model call took. @param {any} call */
function secondsOf(call) {
  const span = spans.value.find((one) => one.attributes["gcp.vertex.agent.event_id"] === call.entry.event.id && one.attributes["gen_ai.operation.name"] === "generate_content");
  return span ? (span.end_time - span.start_time) / 1e9 : 0;
}

/** @param {unknown} text */
const linesIn = (text) => (text ? String(text).split("\n").length : 0);

/** What a step did, in a word. @param {any} step @returns {[string, string]} */
function summary(step) {
  if (step.error) return ["failed", "bad"];
  if (!step.changes.length) return ["same", ""];
  let lines = 0, tools = 0, settings = 0;
  for (const change of step.changes) {
    if (change.path === "/system_instruction") lines += linesIn(change.value) - linesIn(change.before);
    else if (change.path.startsWith("/contents")) lines += change.op === "remove" ? -1 : 1;
    else if (change.path.startsWith("/tools")) tools += change.value?.function_declarations ? change.value.function_declarations.length : Array.isArray(change.value) ? change.value.flatMap((/** @type {any} */ one) => one.function_declarations ?? [one]).length : 1;
    else if (!change.path.startsWith("/callable")) settings += 1;
  }
  const words = [lines > 0 ? `+${lines}` : lines < 0 ? `−${-lines}` : "", tools ? plural(tools, "tool") : "", settings && !lines && !tools ? plural(settings, "setting") : ""].filter(Boolean).join(", ");
  return [words || "changed", lines < 0 ? "minus" : "plus"];
}

/** @param {{ recording: any, number: number }} props */
function Steps({ recording, number }) {
  const at = /** @type {any} */ (session.value);
  const chosen = route.value.rest[2] ?? "";
  const changed = recording.steps.filter((/** @type {any} */ one) => one.changes.length || one.error);
  const pick = (/** @type {string} */ name) => (/** @type {any} */ e) => {
    e.preventDefault();
    go(toSession(at.app, at.id, "chain", number, "steps", name), true);
    document.getElementById(`step-${name}`)?.scrollIntoView({ block: "start" });
  };
  return html`<div class="split"><div tabindex="0">
      <div class="steps">${recording.steps.map((/** @type {any} */ step, /** @type {number} */ n) => {
        const [words, colour] = summary(step);
        return html`<a class=${`step ${step.changes.length ? "" : "same"}`} data-row href=${`#step-${nameOf(step)}`} aria-current=${chosen === nameOf(step) ? "true" : undefined} onClick=${pick(nameOf(step))}>
          <span class="q">${n + 1}</span><span class="cut">${nameOf(step)}${step.package && step.package !== "newel" ? html` <span class="tag">${step.package}</span>` : !step.package && step.kind !== "tools" ? html` <span class="tag">this agent</span>` : ""}</span>
          <span class=${colour || "q"}>${words}</span><span class="num">${duration(step.seconds)}</span></a>`;
      })}</div>
      <div class="pad q2 small">${plural(recording.steps.length, "step")} took ${duration(recording.seconds)}. Steps not from newel have a tag.</div></div>
    <div tabindex="0">${changed.map((/** @type {any} */ step) => html`<${Hunk} step=${step} chosen=${chosen === nameOf(step)} />`)}</div></div>`;
}

/** @param {{ step: any, chosen: boolean }} props */
const Hunk = ({ step, chosen }) => html`<section id=${`step-${nameOf(step)}`} class=${`hunk ${chosen ? "is-sel" : ""}`}>
  <header><b>${nameOf(step)}</b><span>${ownerOf(step)}</span><span class="grow"></span><span>${duration(step.seconds)}</span>
    ${step.plugin && html`<a class="b quiet" href=${to("composition", step.plugin)}>Why is it here?</a>`}</header>
  ${step.error && html`<${Note} kind="bad" icon="x"><b>${step.error}</b> ended the request here.<//>`}
  ${step.answered && html`<${Note} kind="warn" icon="warn">It answered in place of the model.<//>`}
  <div class="diff">${step.changes.filter((/** @type {any} */ one) => !one.path.startsWith("/callable")).map((/** @type {any} */ change) => html`<${Change} change=${change} />`)}</div></section>`;

/** A change as lines of a diff. @param {{ change: any }} props */
function Change({ change }) {
  const [, part, place] = change.path.split("/");
  const title = part === "system_instruction" ? "system instruction" : part === "contents" ? `message ${Number(place) + 1}` : part === "tools" ? "tools" : part === "config" ? "settings" : part;
  const before = change.op === "add" ? [] : textLines(part, change.before, change.path);
  const after = change.op === "remove" ? [] : textLines(part, change.value, change.path);
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const line = (/** @type {number | string} */ n, /** @type {string} */ sign, /** @type {string} */ text, /** @type {string} */ kind) => html`<div class=${kind}><span>${n}</span><span>${sign}</span><span>${visible(text)}</span></div>`;
  const shown = Math.max(0, start - 1);
  return html`<div class="sec"><span></span><span></span><span>${title}</span></div>
    ${shown > 0 && html`<div><span></span><span></span><span class="q">${plural(shown, "line")} before</span></div>`}
    ${start > 0 && line(start, "", before[start - 1], "")}
    ${before.slice(start, before.length - end).map((text, n) => line(start + n + 1, "−", text, "del"))}
    <${Lines} from=${start + 1} lines=${after.slice(start, after.length - end)} />`;
}

/** Added lines, of which the first are shown. @param {{ from: number, lines: string[] }} props */
function Lines({ from, lines }) {
  const whole = useSignal(false);
  const shown = whole.value || lines.length <= 42 ? lines : lines.slice(0, 40);
  return html`${shown.map((text, n) => html`<div class="add"><span>${from + n}</span><span>+</span><span>${visible(text)}</span></div>`)}
    ${shown.length < lines.length && html`<div><span></span><span></span><span><button type="button" class="b quiet" onClick=${() => { whole.value = true; }}>${count(lines.length - shown.length)} more lines</button></span></div>`}`;
}

/** @param {string} part @param {any} value @param {string} path @returns {string[]} */
function textLines(part, value, path) {
  if (typeof value === "string") return value.split("\n");
  if (part === "contents" && value?.parts) return messageLines(value);
  if (part === "tools") {
    const tools = Array.isArray(value) ? value : [value];
    return tools.flatMap((one) => one.function_declarations ?? [one]).map((one) => (one.name ? `${one.name}(${Object.keys(one.parameters_json_schema?.properties ?? {}).join(", ")})` : JSON.stringify(one)));
  }
  return `${path.split("/").slice(2).join(".")}${path.split("/").length > 2 ? " = " : ""}${JSON.stringify(value, null, 1)}`.split("\n");
}

/** @param {{ recording: any, tokens: number }} props */
function Final({ recording, tokens }) {
  const find = route.value.query.get("find") ?? "";
  const chosen = route.value.query.get("plugin") ?? "";
  const blame = blameOf(recording);
  const groups = /** @type {[string, any[]][]} */ ([["System instruction", blame.system], [`Messages, ${recording.after.contents?.length ?? 0}`, blame.messages], [`Tools, ${blame.tools.length}`, blame.tools], ["Settings", blame.settings]]);
  const size = (/** @type {any} */ one) => one.size ?? one.text.length;
  const whole = groups.slice(0, 3).flatMap(([, lines]) => lines).reduce((sum, one) => sum + size(one), 0) || 1;
  const estimate = (/** @type {any[]} */ lines) => Math.round((lines.reduce((sum, one) => sum + size(one), 0) / whole) * tokens);
  const hits = find ? groups.flatMap(([, lines]) => lines).filter((one) => one.text.toLowerCase().includes(find.toLowerCase())) : [];
  const first = hits[0]?.step ?? groups.flatMap(([, lines]) => lines).find((one) => one.step && nameOf(one.step) === chosen)?.step;
  return html`<div class="filters"><${Search} label="Find a sentence" value=${find} onInput=${(/** @type {string} */ text) => ask("find", text)} />
      ${find && html`<span class="q2 small">${count(hits.length)} found</span>`}<${CopyButton} text=${() => JSON.stringify(recording.after, null, 2)} label="Copy the request as JSON">JSON<//></div>
    ${first && html`<${Note} kind="acc" icon="go"><b>${nameOf(first)}</b>, ${ownerOf(first)}, wrote it.${first.plugin ? html` <a href=${to("composition", first.plugin)}>Why is it here?</a>` : ""}<//>`}
    <div class="scroll" tabindex="0"><div class="blame">${groups.map(([title, lines], n) => lines.length > 0 && html`<h3 class="sec">${title}${n < 3 && tokens ? `, ≈ ${count(estimate(lines))} tokens` : ""}</h3>
      <${Owned} lines=${lines} find=${find} chosen=${chosen} estimate=${n < 3 && tokens ? estimate : null} />`)}</div></div>`;
}

/** Lines with their owners to the left. @param {{ lines: any[], find: string, chosen: string, estimate: ((lines: any[]) => number) | null }} props */
function Owned({ lines, find, chosen, estimate }) {
  let owner = /** @type {any} */ (undefined);
  return lines.map((one, n) => {
    const first = one.step !== owner;
    owner = one.step;
    let end = n;
    while (first && end < lines.length && lines[end].step === one.step) end += 1;
    const name = one.step ? nameOf(one.step) : "";
    return html`<div class=${`${first && n ? "first" : ""} ${chosen && name === chosen ? "is-sel" : ""}`} title=${one.step ? `${name}, ${ownerOf(one.step)}` : ""}>
      <span>${first && html`<button type="button" class="cut owner" onClick=${() => ask("plugin", name === chosen ? "" : name)}>${name}</button>${estimate && html`<span class="q2">${count(estimate(lines.slice(n, end)))}</span>`}`}</span>
      <span dir="auto">${marked(one.text, find)}</span></div>`;
  });
}

/** @param {string} text @param {string} find */
function marked(text, find) {
  const at = find ? text.toLowerCase().indexOf(find.toLowerCase()) : -1;
  if (at < 0) return visible(text);
  return [visible(text.slice(0, at)), html`<mark>${text.slice(at, at + find.length)}</mark>`, visible(text.slice(at + find.length))];
}
