/** The conversation: what was said, what was called, and what is asked. */
import { html, useLayoutEffect, useRef, useSignal } from "../vendor/preact.js";
import { Composer } from "./composer.js";
import { argumentLine, count, duration, plural, size, visible } from "./format.js";
import { failureText, isAsking, isFailure, parts, words } from "./log.js";
import { growingMarkdown, markdown } from "./markdown.js";
import { Question } from "./questions.js";
import { toSession } from "./route.js";
import { app, editing, events, fork, questions, rate, ratings, results, running, selection, sendError, session, stored, streaming, turns, unread, user } from "./store.js";
import { Button, Empty, Failure, Fold, Icon, Money, Note, Status, Time } from "./ui.js";

/** How near to the end a reader follows the stream. */
const NEAR = 40;
const MOST = 4000;
/** How many entries are drawn before somebody asks for more, and in how many runs. */
const ENTRIES = 120, RUNS = 30;

export function Talk() {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const follows = useSignal(true);
  const behind = useSignal(0);
  const seen = useRef(0);
  const total = events.value.length;
  const id = session.value?.id;
  const known = useRef(/** @type {string | undefined} */ (undefined));
  useLayoutEffect(() => {
    const node = list.current;
    if (!node) return;
    if (known.current !== id) { known.current = id; follows.value = true; }
    if (follows.value) { node.scrollTop = node.scrollHeight; seen.current = total; behind.value = 0; }
    else behind.value = Math.max(0, total - seen.current);
  }, [total, id, questions.value, running.value, unread.value]);
  const scrolled = (/** @type {any} */ e) => {
    const node = e.currentTarget;
    follows.value = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR;
    if (follows.value) { seen.current = total; behind.value = 0; }
  };
  const down = () => { follows.value = true; if (list.current) list.current.scrollTop = list.current.scrollHeight; };
  const follow = () => { if (follows.value && list.current) list.current.scrollTop = list.current.scrollHeight; };
  const pages = useSignal(1);
  const shown = latest(turns.value, pages.value);
  const hidden = turns.value.length - shown.length;
  return html`<main class="talk" aria-label="Conversation">
    <div class="scroll" tabindex="0" ref=${list} onScroll=${scrolled}>
      ${hidden > 0 && !unread.value && html`<div class="pad"><${Button} onClick=${() => { pages.value += 2; }}>${plural(hidden, "earlier run")}<//></div>`}
      ${!shown.length && stored.value && session.value && html`<${Empty} title="Nothing was said">The session has no message.<//>`}
      ${!shown.length && !stored.value && html`<${Empty} title=${`Talk with ${app.value}`}>Write below. Each answer shows what was called for it, and what it cost.<//>`}
      ${shown.map((turn) => html`<${Turn} key=${turn.id} turn=${turn} last=${turn === shown[shown.length - 1]} />`)}
      <${Flows} drawn=${follow} />
      ${sendError.value && html`<${Failure} error=${sendError.value} />`}
    </div>
    ${behind.value > 0 && html`<button type="button" class="b later" onClick=${down}>${plural(behind.value, "new event")} ↓</button>`}
    <div class="sr" aria-live="polite">${running.value ? "The agent is at work." : ""}</div>
    ${!stored.value && html`<${Composer} />`}
  </main>`;
}

/** The last turns that are drawn. @param {import("./log.js").Turn[]} all @param {number} pages */
function latest(all, pages) {
  let first = all.length, entries = 0;
  while (first > 0 && all.length - first < pages * RUNS && entries < pages * ENTRIES) entries += all[--first].entries.length;
  return all.slice(first);
}

/** All that streams, by itself: a chunk draws nothing else of the conversation. @param {{ drawn: () => void }} props */
function Flows({ drawn }) {
  const flows = streaming.value;
  useLayoutEffect(drawn, [flows]);
  return html`${Object.entries(flows).map(([author, one]) => html`<${Flow} key=${author} author=${author} ...${one} />`)}`;
}

/** What streams. @param {{ author: string, text: string, thought: string }} props */
function Flow({ author, text, thought }) {
  const drawn = useRef({ length: 0, draw: growingMarkdown() });
  if (text.length < drawn.current.length) drawn.current.draw = growingMarkdown(); // another answer
  drawn.current.length = text.length;
  return html`<article class="turn"><div class="who"><b>${author}</b></div>
    ${thought && !text && html`<p class="q2">Thinking: ${thought.slice(-200)}</p>`}
    <div class="prose">${drawn.current.draw(text)}<span class="caret" aria-hidden="true">▍</span></div></article>`;
}

/** @param {{ turn: import("./log.js").Turn, last: boolean }} props */
function Turn({ turn, last }) {
  const chosen = selection.value !== null && turn.entries.some((one) => one.index === selection.value);
  let author = "";
  const whole = useSignal(false);
  const drawn = whole.value ? turn.entries : turn.entries.slice(-ENTRIES);
  const shown = drawn.flatMap((entry) => {
    const items = itemsOf(entry);
    if (!items.length) return [];
    const head = entry.event.author === author ? [] : [html`<${Who} event=${entry.event} />`];
    author = entry.event.author;
    return [...head, ...items];
  });
  const waiting = questions.value.filter((one) => one.sessionId === session.value?.id && one.invocationId === turn.id);
  return html`<article class=${`turn ${chosen ? "is-linked" : ""}`}>${drawn.length < turn.entries.length && html`<${Button} onClick=${() => { whole.value = true; }}>${plural(turn.entries.length - drawn.length, "earlier event")}<//>`}${shown}
    ${waiting.map((one) => html`<${Question} key=${one.id} question=${one} />`)}
    <${Sum} turn=${turn} last=${last} /></article>`;
}

/** @param {{ event: any }} props */
const Who = ({ event }) => html`<div class="who"><b>${event.author === "user" ? user.value : event.author}</b><${Time} at=${event.timestamp} /></div>`;

/** What an event shows. @param {import("./log.js").Entry} entry @returns {any[]} */
function itemsOf(entry) {
  const { event, index } = entry;
  const items = parts(event).map((part) => itemOf(part, entry)).filter(Boolean);
  if (event.actions?.transferToAgent) items.push(html`<a class="line" href=${eventLink(index)}><${Icon} name="go" /><span>handed over to</span><code>${event.actions.transferToAgent}</code></a>`);
  if (event.errorCode) items.push(html`<${Note} kind="bad" icon="x"><b>${event.errorCode}</b> ${event.errorMessage ?? ""}<//>`);
  return items;
}

/** @param {number} index */
const eventLink = (index) => toSession(session.value?.app ?? "", session.value?.id ?? "", "run", "event", index);

/** @param {any} part @param {import("./log.js").Entry} entry */
function itemOf(part, entry) {
  if (part.thought && part.text) return html`<${Fold} label="Thought"><p class="prose q2">${part.text}</p><//>`;
  if (part.text) return html`<${Words} text=${part.text} />`;
  if (part.functionCall) return isAsking(part.functionCall.name) || part.functionCall.name === "transfer_to_agent" ? null : html`<${Tool} call=${part.functionCall} entry=${entry} />`;
  if (part.functionResponse && entry.event.author === "user") return html`<${Answered} response=${part.functionResponse} />`;
  if (part.inlineData) return html`<${File} data=${part.inlineData} />`;
  if (part.fileData) return html`<span class="att"><${Icon} name="file" />${visible(part.fileData.displayName ?? part.fileData.fileUri)}</span>`;
  if (part.executableCode) return html`<figure class="code"><pre><code>${part.executableCode.code}</code></pre></figure>`;
  if (part.codeExecutionResult) return html`<figure class="code"><pre><code>${part.codeExecutionResult.output ?? part.codeExecutionResult.outcome}</code></pre></figure>`;
  return null;
}

/** @param {{ text: string }} props */
function Words({ text }) {
  const whole = useSignal(false);
  if (text.length <= MOST || whole.value) return html`<div class="prose" dir="auto">${markdown(text)}</div>`;
  return html`<div class="prose" dir="auto">${markdown(text.slice(0, MOST))}</div>
    <button type="button" class="b quiet" onClick=${() => { whole.value = true; }}>${count(text.length - MOST)} more characters</button>`;
}

/** @param {{ data: any }} props */
function File({ data }) {
  const kind = data.mimeType ?? "";
  const source = `data:${kind};base64,${(data.data ?? "").replace(/-/g, "+").replace(/_/g, "/")}`;
  if (/^image\/(png|jpeg|gif|webp)$/.test(kind)) return html`<img class="shown" src=${source} alt=${data.displayName ?? "a picture"} />`;
  if (kind.startsWith("audio/") && !kind.includes("pcm")) return html`<audio controls src=${source}></audio>`;
  return html`<span class="att"><${Icon} name="file" />${visible(data.displayName ?? kind)} <span class="q">${size(Math.round((data.data ?? "").length * 0.75))}</span></span>`;
}

/** @param {{ response: any }} props */
function Answered({ response }) {
  const value = response.response;
  const verdict = value && "confirmed" in value ? (value.confirmed ? "Approved" : "Rejected") : "Answered";
  return html`<div class="line"><${Icon} name=${verdict === "Rejected" ? "x" : "ok"} /><span>${verdict} by ${user.value}</span></div>`;
}

/** @param {{ call: any, entry: import("./log.js").Entry }} props */
function Tool({ call, entry }) {
  const result = results.value.get(call.id);
  const asks = questions.value.some((one) => one.sessionId === session.value?.id && one.name === call.name && JSON.stringify(one.args) === JSON.stringify(call.args ?? {}));
  const failed = result && isFailure(result.response) && !asks;
  const status = asks ? "asks" : failed ? "failed" : result ? "done" : running.value ? "running" : "waits";
  const place = result?.entry.index ?? entry.index;
  const chosen = selection.value === place || selection.value === entry.index;
  return html`<a class=${`line ${chosen ? "is-sel" : ""}`} href=${eventLink(place)} onClick=${() => { selection.value = place; }}>
    <${Icon} name="tool" /><code>${visible(call.name)}</code><span class="q cut">${argumentLine(call.args)}</span><span class="grow"></span>
    <${Status} is=${status}>${status}<//>${result && !asks && html`<span class="num">${duration(result.entry.event.timestamp - entry.event.timestamp)}</span>`}</a>
    ${failed && html`<div class="line bad"><span class="cut">${visible(failureText(result.response))}</span></div>`}`;
}

/** What one thinks of the last answer of a run. @param {{ turn: import("./log.js").Turn }} props */
function Thumbs({ turn }) {
  const answer = turn.entries.filter((one) => one.event.author !== "user" && words(one.event)).pop()?.event.id;
  if (!answer) return null;
  const is = ratings.value.get(answer);
  const thumb = (/** @type {"up" | "down"} */ rating, /** @type {string} */ icon, /** @type {string} */ label) =>
    html`<${Button} kind=${`quiet ${is === rating ? "is-on" : ""}`} icon=${icon} label=${label} aria-pressed=${String(is === rating)} onClick=${() => rate(answer, rating)} />`;
  return html`${thumb("up", "up", "A good answer")}${thumb("down", "dn", "A bad answer")}`;
}

/** @param {{ turn: import("./log.js").Turn, last: boolean }} props */
function Sum({ turn, last }) {
  if (unread.value) return html`<div class="sum"></div>`; // its number, and whether it is whole, show with the earlier events
  const models = turn.usage.calls;
  const end = turn.entries[turn.entries.length - 1].index + 1;
  const said = turn.entries.find((one) => one.event.author === "user" && words(one.event))?.index;
  return html`<div class="sum"><a class="q" href=${toSession(session.value?.app ?? "", session.value?.id ?? "", "run", turn.number)}>Run ${turn.number}</a>
    ${models > 0 && html`<span class="hide-m">${plural(models, "model call")}</span>`}${turn.tools > 0 && html`<span class="hide-m">${plural(turn.tools, "tool call")}</span>`}
    <span>${duration(turn.ended - turn.began)}</span>${models > 0 && html`<${Money} value=${turn.usage.cost} incomplete=${turn.usage.incomplete && turn.usage.cost != null} />`}
    <span class="grow"></span>${!stored.value && html`<${Thumbs} turn=${turn} />`}${!stored.value && said !== undefined && !running.value && html`<${Button} kind="quiet" icon="edit" label="Edit: write this message again, in a session of its own" onClick=${() => { editing.value = said; }} />`}
    ${!stored.value && !(last && running.value) && html`<${Button} kind="quiet" icon="fork" label="Fork: a new session with everything up to here" onClick=${() => fork(end)} />`}</div>`;
}
