/** Events: the log, row by row; filter, search, the raw JSON of one. */
import { computed, html } from "../../vendor/preact.js";
import { BASE } from "../api.js";
import { argumentLine, brief, count, duration, money, precise, visible } from "../format.js";
import { calls, failuresOf, isModelCall, kindOf, parts, responses, usageOf, words } from "../log.js";
import { curlOf, pytestOf } from "../reproduce.js";
import { ask, go, route, to, toSession } from "../route.js";
import { events, fork, selection, session, stored, turns, unread, user } from "../store.js";
import { Button, Chip, CopyButton, Empty, Icon, Id, Rows } from "../ui.js";
import { Search } from "../ui.js";

const KINDS = ["message", "text", "call", "result", "question", "answer", "transfer", "file", "state", "error", "compaction", "feedback", "mark"];
/** An event that is longer is shown cut. */
const MOST = 65_536;

/** The events with their kinds, and how many there are of each. */
const sorted = computed(() => {
  const counts = /** @type {Record<string, number>} */ ({});
  const failures = failuresOf(events.value);
  const all = events.value.map((event, index) => {
    const is = index < unread.value ? "" : kindOf(event);
    if (is) counts[is] = (counts[is] ?? 0) + 1;
    return { event, index, is, failed: failures.has(index) };
  });
  return { all, counts, failed: failures.size };
});

export default function Events() {
  const at = session.value;
  const list = events.value;
  if (!at || !list.length) return html`<${Empty} title="No event yet">Each message, call, result and change of the state is an event here.<//>`;
  const find = route.value.query.get("find") ?? "";
  const kind = route.value.query.get("kind") ?? "";
  const number = Number(route.value.rest[0]) || 0;
  const { all, counts, failed } = sorted.value;
  const needle = find.toLowerCase();
  const rows = all.filter((one) => (!kind || one.is === kind || (kind === "failed" && one.failed)) && (!needle || JSON.stringify(one.event).toLowerCase().includes(needle)));
  const filtered = Boolean(kind || needle);
  const chosen = list[number - 1];
  const place = (/** @type {number} */ n) => `${toSession(at.app, at.id, "events", n)}${route.value.query.size ? `?${route.value.query}` : ""}`;
  const height = matchMedia("(max-width: 640px)").matches ? 40 : 27;
  return html`<div class="filters"><${Search} label="Find in events" value=${find} onInput=${(/** @type {string} */ text) => ask("find", text)} />
      ${failed > 0 && html`<${Chip} kind="bad" on=${kind === "failed"} onClick=${() => ask("kind", kind === "failed" ? "" : "failed")}><${Icon} name="x" />failed ${unread.value ? "" : count(failed)}<//>`}
      ${KINDS.filter((one) => counts[one]).map((one) => html`<${Chip} on=${kind === one} onClick=${() => ask("kind", kind === one ? "" : one)}>${one} ${unread.value ? "" : count(counts[one])}<//>`)}</div>
    ${unread.value > 0 && filtered && html`<p class="pad q2 slow">Reading the earlier events: ${count(unread.value)} to go.</p>`}
    <${Rows} label="Events" rows=${rows} height=${height} version=${`${at.id} ${list.length} ${unread.value} ${number} ${height} ${route.value.query}`} selected=${rows.findIndex((one) => one.index === number - 1)}
      columns=${html`<col style="width:48px" /><col class="hide-s" style="width:104px" /><col style="width:110px" /><col class="hide-s" style="width:80px" /><col /><col class="hide-s" style="width:64px" /><col style="width:76px" /><col class="hide-s" style="width:72px" />`}
      head=${html`<tr><th class="num">n</th><th class="hide-s">time</th><th>by</th><th class="hide-s">kind</th><th>what</th><th class="num hide-s">out</th><th class="num">cost</th><th class="num hide-s">after</th></tr>`}
      render=${(/** @type {any} */ row) => html`<${Row} key=${row.index} ...${row} chosen=${row.index === number - 1} href=${place(row.index + 1)} before=${list[row.index - 1]} />`} />
    ${chosen && number > unread.value && html`<${Detail} event=${chosen} number=${number} />`}`;
}

/** @param {any} props */
function Row({ event, index, is, failed, chosen, href, before }) {
  if (!is) return html`<tr aria-rowindex=${index + 1}><td class="num q">${index + 1}</td><td colspan="7" class="q">not read yet</td></tr>`;
  const usage = isModelCall(event) ? usageOf([event]) : null;
  const open = () => { selection.value = index; go(href); };
  return html`<tr data-row tabindex="0" aria-selected=${String(chosen)} aria-rowindex=${index + 1} onClick=${open} onKeyDown=${(/** @type {any} */ e) => e.key === "Enter" && open()}>
    <td class="num q">${index + 1}</td><td class="hide-s q2">${precise(event.timestamp)}</td><td><bdi>${visible(event.author === "user" ? user.value : event.author)}</bdi></td>
    <td class=${`hide-s ${is === "error" ? "bad" : is === "question" ? "warn" : "q2"}`}>${is}</td><td>${failed && html`<span class="st bad"><${Icon} name="x" />failed</span> `}<bdi>${lineOf(event)}</bdi></td>
    <td class="num hide-s">${usage ? count(usage.out) : ""}</td><td class="num">${usage && usage.cost !== null ? money(usage.cost) : ""}</td>
    <td class="num hide-s">${before && before.invocationId === event.invocationId ? duration(Math.max(0, event.timestamp - before.timestamp)) : ""}</td></tr>`;
}

/** An event in a line. @param {any} event */
function lineOf(event) {
  if (event.errorCode) return `${event.errorCode} ${visible(event.errorMessage ?? "")}`;
  const called = calls(event), answered = responses(event);
  if (called.length) return called.map((one) => html`<code>${visible(one.name)}</code> ${argumentLine(one.args)} `);
  if (event.actions?.transferToAgent) return html`to <code>${visible(event.actions.transferToAgent)}</code>`;
  if (answered.length) return answered.map((one) => html`<code>${visible(one.name)}</code> ${brief(one.response, 120)} `);
  const said = words(event);
  if (said) return visible(said.slice(0, 200));
  if (parts(event).some((one) => one.thought)) return html`<span class="q">thought</span> ${visible(parts(event).map((one) => one.text ?? "").join("").slice(0, 120))}`;
  const state = event.actions?.stateDelta ?? {};
  if (Object.keys(state).length) return Object.entries(state).map(([key, value]) => html`<code>${visible(key)}</code> ${brief(value, 40)} `);
  const rating = event.customMetadata?.["newel.feedback"];
  if (rating) return html`${rating.rating === "up" ? "a good answer" : rating.rating === "down" ? "a bad answer" : "no longer rated"}: <code>${brief(rating.event_id, 40)}</code> ${brief(rating.comment ?? "", 120)}`;
  const files = Object.entries(event.actions?.artifactDelta ?? {});
  return files.map(([name, version]) => html`<code>${visible(name)}</code> version ${version} `);
}

/** @param {{ event: any, number: number }} props */
function Detail({ event, number }) {
  const at = /** @type {any} */ (session.value);
  const text = JSON.stringify(event, null, 2);
  const whole = () => URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const curl = () => curlOf(`${location.origin}${BASE}`, user.value, at, number - 1);
  const turn = turns.value.find((one) => one.entries.some((entry) => entry.index === number - 1));
  return html`<div class="detail"><div class="head"><a class="b quiet icon only-s" href=${toSession(at.app, at.id, "events")} title="All events" aria-label="All events"><${Icon} name="left" /></a><b>Event ${number}</b><span class="hide-s hide-m"><${Id} id=${event.id} /></span><span class="grow"></span>
      <${CopyButton} text=${text} label="Copy the JSON">JSON<//><${CopyButton} text=${curl} label=${event.author === "user" && event.content ? "Copy a command that says it again" : "Copy a command that reads it"}>curl<//>
      ${turn && !unread.value && html`<${CopyButton} text=${() => pytestOf(at, turn)} label="Copy its run as a test">pytest<//>`}
      ${!stored.value && html`<a class="b quiet" href=${`${to("evaluation")}?add=${encodeURIComponent(at.id)}`}><${Icon} name="eval" />Evaluation case</a>`}
      ${!stored.value && !unread.value && html`<${Button} kind="quiet" icon="fork" label="A new session with everything up to here" onClick=${() => fork(number)}>Fork here<//>`}</div>
    <pre tabindex="0" class="json scroll">${text.slice(0, MOST)}</pre>
    ${text.length > MOST && html`<div class="pad"><a class="b" download=${`event-${number}.json`} href="#" onClick=${(/** @type {any} */ e) => { e.currentTarget.href = whole(); }}>Download all ${count(text.length)} characters</a></div>`}</div>`;
}
