/** State: as of any event, next to another one; an edit is a new event. */
import { html, useSignal } from "../../vendor/preact.js";
import { brief, count, visible } from "../format.js";
import { stateAt } from "../log.js";
import { ask, go, route, toSession } from "../route.js";
import { changeState, events, session, stored } from "../store.js";
import { Button, Chip, Empty, Search } from "../ui.js";

export default function State() {
  const at = session.value;
  const list = events.value;
  const edited = useSignal(/** @type {string | null} */ (null));
  if (!at) return null;
  const total = list.length;
  const number = route.value.rest[0] === undefined ? total : Math.min(total, Math.max(0, Number(route.value.rest[0]) || 0));
  const find = (route.value.query.get("find") ?? "").toLowerCase();
  const onlyChanged = route.value.query.get("show") === "changed";
  const written = stateAt(list, total).state;
  const elsewhere = Object.fromEntries(Object.entries(at.state).filter(([key]) => !(key in written) && key !== "__session_metadata__"));
  const { state: now, writer } = stateAt(list, number, elsewhere);
  const { state: old } = stateAt(list, Math.max(0, number - 1), elsewhere);
  const isLast = number === total;
  const shownNow = isLast ? { ...now, ...Object.fromEntries(Object.entries(at.state).filter(([key]) => key !== "__session_metadata__")) } : now;
  const keys = [...new Set([...Object.keys(shownNow), ...Object.keys(old)])].sort();
  const same = (/** @type {string} */ key) => JSON.stringify(shownNow[key]) === JSON.stringify(old[key]);
  const changed = keys.filter((one) => !same(one));
  const move = (/** @type {number} */ n) => go(toSession(at.app, at.id, "state", n));
  const shown = (onlyChanged ? changed : [...changed, ...keys.filter(same)]).filter((one) => one.toLowerCase().includes(find));
  return html`<div class="head"><span class="q2">As of event</span><${Button} kind="quiet" icon="left" label="Event before" disabled=${number <= 0} onClick=${() => move(number - 1)} />
      <b>${number}</b><${Button} kind="quiet" icon="right" label="Next event" disabled=${isLast} onClick=${() => move(number + 1)} />
      <input class="grow" type="range" aria-label="As of event" min="0" max=${total} value=${number} onInput=${(/** @type {any} */ e) => go(toSession(at.app, at.id, "state", e.target.value), true)} /><span class="q2">${count(total)}</span></div>
    <div class="filters"><${Search} label="Find a key" value=${find} onInput=${(/** @type {string} */ text) => ask("find", text)} />
      <${Chip} on=${onlyChanged} onClick=${() => ask("show", onlyChanged ? "" : "changed")}>changed ${changed.length}<//></div>
    ${keys.length === 0 ? html`<${Empty} title="The state is empty">Tools write it: <code>tool_context.state["key"] = value</code>.<//>` : html`<div class="scroll" tabindex="0"><table><colgroup><col style="width:190px" /><col /><col /><col class="hide-s" style="width:128px" /></colgroup>
      <thead><tr><th>key</th><th>event ${Math.max(0, number - 1)}</th><th>event ${number}</th><th class="hide-s">written by</th></tr></thead>
      <tbody>${shown.map((key) => html`<tr key=${key} data-row tabindex="0" aria-selected=${String(edited.value === key)} onClick=${() => { edited.value = key; }} onKeyDown=${(/** @type {any} */ e) => e.key === "Enter" && (edited.value = key)}>
        <td><code><bdi>${visible(key)}</bdi></code></td><td class=${same(key) ? "q2" : "bad"}>${key in old && html`<code>${same(key) ? "" : "− "}${brief(old[key], 200)}</code>`}</td>
        <td class=${same(key) ? "" : "ok"}>${key in shownNow && html`<code>${same(key) ? "" : "+ "}${brief(shownNow[key], 200)}</code>`}</td>
        <td class="hide-s">${key in writer ? html`<a href=${toSession(at.app, at.id, "events", writer[key] + 1)}>event ${writer[key] + 1}</a>` : html`<span class="q">before this session</span>`}</td></tr>`)}</tbody></table>
      ${edited.value !== null && isLast && !stored.value && html`<${Edit} key=${edited.value} name=${edited.value} value=${shownNow[edited.value]} done=${() => { edited.value = null; }} />`}</div>`}`;
}

/** @param {{ name: string, value: unknown, done: () => void }} props */
function Edit({ name, value, done }) {
  const wrong = useSignal("");
  const save = async (/** @type {any} */ e) => {
    e.preventDefault();
    let parsed;
    try { parsed = JSON.parse(String(new FormData(e.target).get("value"))); } catch (error) { wrong.value = `This is not JSON: ${/** @type {any} */ (error).message}`; return; }
    if (await changeState({ [name]: parsed })) done();
  };
  return html`<form class="insp bordered" onSubmit=${save}><h2><code>${visible(name)}</code></h2>
    <textarea class="ed" name="value" rows="4" aria-label=${`Value of ${name}, as JSON`}>${JSON.stringify(value, null, 2)}</textarea>${wrong.value && html`<p class="bad">${wrong.value}</p>`}
    <div class="acts"><button type="submit" class="b main">Save as event ${events.value.length + 1}</button><${Button} onClick=${done}>Cancel<//><span class="q2 small">An edit is a new event. The log keeps the old value.</span></div></form>`;
}
