/** Compare: another session of the same agent, row by row, and the first row that differs. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { brief, money, visible } from "../format.js";
import { calls, kindOf, responses, usageOf, words } from "../log.js";
import { go, route, toSession } from "../route.js";
import { events, session, summaries, user } from "../store.js";
import { Empty, Failure, Icon } from "../ui.js";

/** What two events must have in common to be the same. @param {any} event */
const essence = (event) => JSON.stringify([event.author, words(event), calls(event).map((one) => [one.name, one.args]), responses(event).map((one) => [one.name, one.response])]);

export default function Compare() {
  const at = session.value;
  const id = route.value.rest[1] ?? "";
  const other = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  useEffect(() => {
    other.value = null;
    if (at && id) get("get_session", { app_name: at.app, user_id: user.value, session_id: id }).then((one) => { other.value = one; failed.value = null; }, (error) => { failed.value = error; });
  }, [at?.id, id]);
  if (!at) return null;
  const others = (summaries.value?.sessions ?? []).filter((one) => one.id !== at.id);
  const pick = html`<div class="head"><label class="pick f">Compare with <select aria-label="The other session" value=${id} onChange=${(/** @type {any} */ e) => go(toSession(at.app, at.id, "panel", "compare", e.target.value))}>
    <option value="">choose a session</option>${others.map((one) => html`<option value=${one.id}>${one.title || one.id}</option>`)}</select></label>
    ${other.value && html`<span class="grow"></span><span class="q2 small">${money(usageOf(events.value).cost)} here, ${money(usageOf(other.value.events).cost)} there</span>`}</div>`;
  if (failed.value) return html`${pick}<${Failure} error=${failed.value} />`;
  if (!other.value) return html`${pick}<${Empty} title="Two sessions, row by row">Choose another session of ${at.app}, for example a fork of this one: the first event that differs is marked.<//>`;
  const ours = events.value, theirs = other.value.events;
  const length = Math.max(ours.length, theirs.length);
  let first = 0;
  while (first < length && ours[first] && theirs[first] && essence(ours[first]) === essence(theirs[first])) first += 1;
  const rows = Array.from({ length: Math.min(length, 500) }, (_, n) => n);
  return html`${pick}<div class="scroll" tabindex="0"><table><colgroup><col style="width:44px" /><col /><col /></colgroup><thead><tr><th class="num">n</th><th>this session</th><th>the other</th></tr></thead><tbody>
    ${rows.map((n) => html`${n === first && html`<tr><td colspan="3" class="warn"><${Icon} name="warn" /> Here they begin to differ.</td></tr>`}
      <tr key=${n}><td class="num q">${n + 1}</td><td>${ours[n] ? html`<a href=${toSession(at.app, at.id, "events", n + 1)}>${lineOf(ours[n])}</a>` : ""}</td><td>${theirs[n] ? html`<a href=${toSession(at.app, id, "events", n + 1)}>${lineOf(theirs[n])}</a>` : ""}</td></tr>`)}
    ${first === length && html`<tr><td colspan="3" class="ok">They are the same.</td></tr>`}</tbody></table></div>`;
}

/** @param {any} event */
function lineOf(event) {
  const said = words(event) || calls(event).map((one) => `${one.name} ${brief(one.args ?? {}, 60)}`).join(", ") || responses(event).map((one) => `${one.name} → ${brief(one.response, 60)}`).join(", ");
  return html`<span class="q">${visible(event.author)} ${kindOf(event)}</span> <bdi>${visible(said.slice(0, 160))}</bdi>`;
}
