/** Replay from here: a model call is edited and asked again, and both answers stand side by side. */
import { html, useEffect, useRef, useSignal } from "../../vendor/preact.js";
import { send } from "../api.js";
import { argumentLine, count, duration, money, plural, visible } from "../format.js";
import { calls as callsOf, usageOf, words } from "../log.js";
import { markdown } from "../markdown.js";
import { ask, go, route, to, toSession } from "../route.js";
import { explained, forkWith, hasRecordings, modelCalls, session, spans } from "../store.js";
import { Button, Chip, Empty, Failure, Icon, Note, Seg } from "../ui.js";
import { forgetChanges, markChanges } from "./changes.js";
import { recordingOf } from "./recordings.js";
import { Unknown } from "./unknown.js";

export default function Replay() {
  const at = session.value, calls = modelCalls.value;
  const number = Number(route.value.rest[0]) || calls.length;
  const call = calls[number - 1];
  if (!at || !call) return html`<${Empty} title="No model call yet">When a model was asked, you can change what it was asked here, and ask it again.<//>`;
  const isHere = hasRecordings(call.invocation);
  const recording = recordingOf(call, calls, explained.value);
  const place = (/** @type {number} */ n) => toSession(at.app, at.id, "replay", n);
  const head = html`<${Button} kind="quiet" icon="left" label="Call before" disabled=${number <= 1} onClick=${() => go(place(number - 1))} />
    <b>Replay from call ${number}</b><${Button} kind="quiet" icon="right" label="Next call" disabled=${number >= calls.length} onClick=${() => go(place(number + 1))} />
    <span class="q cut hide-s hide-m">${call.agent}</span>`;
  if (!recording) return html`<div class="head">${head}</div>${isHere && html`<${Unknown} />`}`;
  return html`<${Edited} key=${recording.number} call=${call} recording=${recording} head=${head} />`;
}

/** A text of a request. @param {any} value */
const asText = (value) => (typeof value === "string" ? value : (value?.parts ?? (value ? [value] : [])).map((/** @type {any} */ one) => one?.text ?? JSON.stringify(one)).join("\n"));

/** The messages that can be edited: their text, or the result of a tool. @param {any} recording */
const messagesOf = (recording) => (recording.after.contents ?? []).map((/** @type {any} */ content, /** @type {number} */ n) => {
  const parts = content.parts ?? [];
  const texts = parts.filter((/** @type {any} */ one) => one.text !== undefined && !one.thought);
  const result = parts.find((/** @type {any} */ one) => one.function_response)?.function_response;
  const called = parts.filter((/** @type {any} */ one) => one.function_call).map((/** @type {any} */ one) => `${one.function_call.name}(${argumentLine(one.function_call.args)})`);
  if (result) return { place: n, who: `tool ${result.name}`, kind: "response", value: JSON.stringify(result.response, null, 1) };
  if (texts.length) return { place: n, who: content.role, kind: "text", value: texts.map((/** @type {any} */ one) => one.text).join("\n"), called };
  return { place: n, who: content.role, kind: "", value: called.join(" ") || "a file or a thought", called };
});

/** @param {any} recording */
const declared = (recording) => (recording.after.tools ?? []).flatMap((/** @type {any} */ one) => one.function_declarations ?? []).map((/** @type {any} */ one) => one.name);

/** @param {{ call: any, recording: any, head: any }} props */
function Edited({ call, recording, head }) {
  const at = /** @type {any} */ (session.value);
  const before = { model: recording.after.model ?? "", instruction: asText(recording.after.system_instruction ?? ""), messages: messagesOf(recording), tools: declared(recording) };
  const model = useSignal(before.model);
  const instruction = useSignal(before.instruction);
  const changed = useSignal(/** @type {Record<string, string | null>} */ ({}));
  const tools = useSignal(before.tools);
  const answer = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const busy = useSignal(false);
  const source = route.value.query.get("with") === "recording" ? "recording" : "model";
  const recorded = usageOf([call.entry.event]);
  const isOther = model.value !== before.model;
  const run = async () => {
    if (busy.value) return;
    failed.value = null;
    let body;
    try { body = bodyOf(before, { model: model.value, instruction: instruction.value, changed: changed.value, tools: tools.value }, source); }
    catch (error) { failed.value = { title: "This cannot be sent.", message: /** @type {any} */ (error).message }; return; }
    busy.value = true;
    try {
      const place = { app_name: at.app, user_id: at.user, session_id: at.id, number: recording.number };
      answer.value = { ...(await (await send("replay_model_call", place, { body })).json()), edits: editsOf(body) };
    } catch (error) { failed.value = error; } finally { busy.value = false; }
  };
  const both = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const [before, after] = answer.value ? both.current.querySelectorAll(".ans .prose") : [];
    if (after) markChanges(before, after);
    return forgetChanges;
  }, [answer.value]);
  const onKey = (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); } };
  const price = source === "recording" ? "costs nothing" : isOther ? "price not known before" : recorded.cost === null ? "no price" : `about ${money(recorded.cost)}`;
  const views = ["recording", "model"].map((name) => ({ name, label: name === "model" ? "With the model" : "From recording", href: `${toSession(at.app, at.id, "replay", call.number)}?with=${name}` }));
  const texts = Number(instruction.value !== before.instruction);
  return html`<div class="head">${head}<span class="grow"></span><${Seg} label="Who answers" options=${views} chosen=${source} /><span class="q2 small hide-s">${price}</span>
      <${Button} kind="main" icon="play" disabled=${busy.value} onClick=${run}>${busy.value ? "Running" : "Run again"}<span class="key hide-s hide-m" aria-hidden="true">Ctrl ↵</span><//></div>
    <div class="split replay" onKeyDown=${onKey}><div class="pad" tabindex="0">
      <label><span class="label">Model ${isOther && html`<span class="acc">changed</span>`}</span><input class="ed" value=${model.value} onInput=${(/** @type {any} */ e) => { model.value = e.target.value; }} /></label>
      <label><span class="label">Instruction ${texts > 0 && html`<span class="acc">changed</span>`}</span><textarea class="ed" rows="7" onInput=${(/** @type {any} */ e) => { instruction.value = e.target.value; }}>${before.instruction}</textarea></label>
      <fieldset><legend class="label">Messages ${Object.keys(changed.value).length > 0 && html`<span class="acc">${plural(Object.keys(changed.value).length, "change")}</span>`}</legend>
        ${before.messages.map((/** @type {any} */ one) => html`<${Message} key=${one.place} one=${one} changed=${changed} />`)}</fieldset>
      <fieldset><legend class="label">Tools</legend>${before.tools.length ? html`<div class="chips">${before.tools.map((/** @type {string} */ name) => html`<${Chip} on=${tools.value.includes(name)} onClick=${() => { tools.value = tools.value.includes(name) ? tools.value.filter((/** @type {string} */ one) => one !== name) : [...tools.value, name]; }}>${tools.value.includes(name) && html`<${Icon} name="ok" />`}${visible(name)}<//>`)}</div>` : html`<p class="q2">The call declared none.</p>`}</fieldset>
      <p class="q2 small">${source === "model" ? "Asks the model once, at its price." : "Asks no model: only a request that a recorded call had gets its answer, at no price."} No tool runs, recorded results are used, and the session stays unchanged unless you save.</p>
    </div><div class="column">${failed.value && html`<${Failure} error=${failed.value} />`}
      <div class="cmp scroll" tabindex="0" ref=${both}><div class="ans"><h3>As recorded</h3><${Words} content=${call.entry.event.content} error=${call.entry.event.errorCode} /></div>
        <div class="ans" aria-live="polite"><h3>${answer.value ? answer.value.source === "recording" ? "From a recording" : "Edited, just now" : "Edited"}</h3>${answer.value ? html`<${Words} content=${answer.value.content} error=${answer.value.errorCode} text=${answer.value.errorMessage} />` : html`<p class="q2">Change something, then run again.</p>`}</div>
        <${Figures} call=${call} answer=${answer.value} /></div>
      ${answer.value && html`<${Save} call=${call} answer=${answer.value} />`}</div></div>`;
}

/** @param {{ one: any, changed: any }} props */
function Message({ one, changed }) {
  const left = changed.value[one.place] === null;
  const set = (/** @type {string | null | undefined} */ value) => {
    const { [one.place]: _, ...rest } = changed.value;
    changed.value = value === undefined || value === one.value ? rest : { ...rest, [one.place]: value };
  };
  return html`<div class="msg"><span class="q2 small"><bdi>${visible(one.who ?? "")}</bdi></span><span class="grow"></span>
      <${Button} kind="quiet" label=${left ? "Put the message back" : "Leave out the message"} onClick=${() => set(left ? undefined : null)}>${left ? "Put back" : "Leave out"}<//></div>
    ${left ? html`<p class="q2"><s>${one.value.slice(0, 80)}</s></p>` : one.kind
      ? html`<textarea class="ed" rows=${Math.min(6, one.value.split("\n").length + 1)} aria-label=${`Message ${one.place + 1}, ${one.who}`} onInput=${(/** @type {any} */ e) => set(e.target.value)}>${one.value}</textarea>`
      : html`<p class="mono small cut">${visible(one.value)}</p>`}`;
}

/** The body of the request: what was changed. @param {any} before @param {any} now @param {string} source */
function bodyOf(before, now, source) {
  const messages = Object.entries(now.changed).map(([place, value]) => {
    if (value === null) return { place: Number(place), removed: true };
    if (before.messages[Number(place)].kind === "text") return { place: Number(place), text: value };
    try { return { place: Number(place), response: JSON.parse(/** @type {string} */ (value)) }; } catch { throw new Error(`The result in message ${Number(place) + 1} is not JSON.`); }
  });
  return {
    source, messages,
    ...(now.model !== before.model && { model: now.model }),
    ...(now.instruction !== before.instruction && { systemInstruction: now.instruction }),
    ...(now.tools.length !== before.tools.length && { tools: now.tools }),
  };
}

/** What was changed, in words. @param {any} body */
function editsOf(body) {
  const edits = [body.messages.length && plural(body.messages.length, "message"), "systemInstruction" in body && "the instruction", "tools" in body && "the tools", "model" in body && "the model"];
  return edits.filter(Boolean).join(", ");
}

/** What a model said. @param {{ content: any, error?: string, text?: string }} props */
function Words({ content, error, text }) {
  const event = { content };
  const said = words(event), called = callsOf(event);
  if (error) return html`<${Note} kind="bad" icon="x"><b>${visible(error)}</b> ${visible(text ?? "")}<//>`;
  return html`${said && html`<div class="prose" dir="auto">${markdown(said.slice(0, 20_000))}</div>`}
    ${called.map((one) => html`<p class="line"><${Icon} name="tool" /><code>${visible(one.name)}</code><span class="q cut">${argumentLine(one.args)}</span></p>`)}
    ${!said && !called.length && html`<p class="q2">Nothing was said.</p>`}`;
}

/** @param {{ call: any, answer: any }} props */
function Figures({ call, answer }) {
  const event = call.entry.event;
  const old = usageOf([event]);
  const span = spans.value.find((one) => one.attributes["gcp.vertex.agent.event_id"] === event.id && one.attributes["gen_ai.operation.name"] === "generate_content");
  const took = span ? (span.end_time - span.start_time) / 1e9 : null;
  const now = answer && { ...usageOf([{ author: "model", usageMetadata: answer.usageMetadata ?? {} }]), cost: answer.cost };
  const names = (/** @type {any} */ content) => callsOf({ content }).map((one) => visible(one.name));
  const own = names(event.content), theirs = answer ? names(answer.content) : [];
  const lost = own.filter((one) => !theirs.includes(one)), gained = theirs.filter((one) => !own.includes(one));
  const signed = (/** @type {number} */ value, /** @type {(n: number) => string} */ as) => (value ? `${value > 0 ? "+" : "−"}${as(Math.abs(value))}` : "same");
  const row = (/** @type {string} */ name, /** @type {any} */ a, /** @type {any} */ b, /** @type {any} */ delta, tone = "q2") => html`<tr><td class="q2">${name}</td><td>${a}</td><td>${answer ? b : ""}</td><td class=${`num ${tone}`}>${answer ? delta : ""}</td></tr>`;
  const both = now && old.cost !== null && now.cost !== null;
  return html`<table class="figures"><colgroup><col style="width:84px" /><col /><col /><col style="width:104px" /></colgroup><thead><tr><th>figure</th><th>as recorded</th><th>edited</th><th class="num">difference</th></tr></thead><tbody>
    ${row("tool calls", own.join(", ") || html`<span class="q2">none</span>`, theirs.join(", ") || html`<span class="q2">none</span>`, [...lost.map((one) => `− ${one}`), ...gained.map((one) => `+ ${one}`)].join(" ") || "same", lost.length ? "bad" : gained.length ? "ok" : "q2")}
    ${row("in", count(old.in), now && count(now.in), now && signed(now.in - old.in, count))}${row("out", count(old.out), now && count(now.out), now && signed(now.out - old.out, count))}
    ${row("time", duration(took), answer && duration(answer.seconds), answer && took !== null ? signed(answer.seconds - took, duration) : "")}
    ${row("cost", html`<b>${money(old.cost)}</b>`, html`<b>${money(now?.cost)}</b>`, both ? signed(now.cost - /** @type {number} */ (old.cost), money) : "", both ? now.cost < /** @type {number} */ (old.cost) ? "ok" : "q2" : "q2")}</tbody></table>`;
}

/** @param {{ call: any, answer: any }} props */
function Save({ call, answer }) {
  const fork = () => forkWith(call.entry.index, { author: call.agent, invocationId: call.invocation, content: answer.content, usageMetadata: answer.usageMetadata, modelVersion: answer.modelVersion, errorCode: answer.errorCode ?? undefined, errorMessage: answer.errorMessage ?? undefined });
  const asCase = async () => { const id = await fork(); if (id) { go(to("evaluation")); ask("add", id); } };
  return html`${answer.edits && html`<p class="pad q2 small">A fork has this answer after the messages of this session. What you changed for it is not in the fork: ${answer.edits}.</p>`}
    <div class="foot saves"><span class="q2">${plural(answer.replays, "replay")} of this call, ${money(answer.spent, answer.unpriced > 0 && answer.spent > 0)}</span><span class="grow"></span>
    <${Button} label="A fork with this answer, to be added to a set" onClick=${asCase}>Save as evaluation case<//><${Button} icon="fork" label="A new session up to this call, with this answer" onClick=${fork}>Save as fork<//></div>`;
}
