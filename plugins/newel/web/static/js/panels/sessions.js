/** All sessions of the agent: search, delete with a way back, export. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { ago, count, iso, money } from "../format.js";
import { ask, go, route, toSession } from "../route.js";
import { app, deleteSession, importSession, restoreSession, stored, summaries, user } from "../store.js";
import { Button, Chip, Empty, Failure, Note, Search, Status } from "../ui.js";

const PAGE = 100;
/** What a word of the search means, if it means more than its letters. @type {[RegExp, string][]} */
const SIGNS = [[/^tool:(.+)$/, "tool"], [/^agent:(.+)$/, "agent"], [/^cost>\$?([\d.]+)$/, "cost_above"], [/^slower>([\d.]+)s?$/, "slower_than"], [/^(failed)$/, "failed"]];
const CHIPS = [["tool:", "tool"], ["agent:", "agent"], ["cost>0.01", "cost above"], ["slower>2s", "slower than"], ["failed", "failed"]];

/** The query of the route for a search. @param {string} text */
export function searchOf(text) {
  /** @type {Record<string, string>} */
  const query = {};
  const words = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const [sign, name] = SIGNS.find(([one]) => one.test(word)) ?? [];
    if (sign && name) query[name] = name === "failed" ? "true" : /** @type {RegExpExecArray} */ (sign.exec(word))[1];
    else if (!/^(tool:|agent:)$/.test(word)) words.push(word);
  }
  return words.length ? { ...query, query: words.join(" ") } : query;
}

export default function Sessions() {
  const query = route.value.query.get("q") ?? "";
  const found = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const gone = useSignal(/** @type {any} */ (null));
  const importing = useSignal(false);
  const load = async () => {
    try {
      const page = await get("list_session_summaries", { app_name: app.value, user_id: user.value }, { query: { limit: PAGE, ...searchOf(query) } });
      if ((route.value.query.get("q") ?? "") === query) { found.value = page; failed.value = null; }
    } catch (error) { failed.value = error; }
  };
  useEffect(() => { if (!app.value) return undefined; const timer = setTimeout(load, query ? 200 : 0); return () => clearTimeout(timer); }, [query, app.value, summaries.value]);
  const drop = async (/** @type {string} */ id) => { const whole = await deleteSession(id); if (whole) { gone.value = whole; load(); } };
  const toggle = (/** @type {string} */ word) => {
    const begin = word.replace(/[\d.]+s?$/, "");
    const words = query.split(/\s+/).filter(Boolean), others = words.filter((one) => !one.startsWith(begin));
    ask("q", (others.length < words.length ? others : [...words, word]).join(" "));
    /** @type {HTMLElement | null} */ (document.querySelector(".full input[type=search]"))?.focus();
  };
  const undo = async () => { await restoreSession(gone.value); gone.value = null; load(); };
  const list = found.value?.sessions ?? [];
  return html`<div class="head"><h2>Sessions of ${app.value}</h2><span class="q2">${found.value ? count(found.value.total) : ""}</span><span class="grow"></span>
      ${!stored.value && html`<${Button} kind="quiet" onClick=${() => { importing.value = !importing.value; }} aria-expanded=${String(importing.value)}>Import<//>`}</div>
    ${importing.value && html`<${Import} done=${load} />`}
    <div class="filters"><${Search} label="Search text, titles and tools" value=${query} onInput=${(/** @type {string} */ text) => ask("q", text)} />
      ${CHIPS.map(([word, label]) => html`<${Chip} on=${query.includes(word.replace(/[\d.]+s?$/, ""))} onClick=${() => toggle(word)}>${label}<//>`)}</div>
    ${gone.value && html`<${Note} kind="warn" icon="warn" action=${html`<${Button} onClick=${undo}>Undo<//>`}>The session is deleted. Undo puts its ${count(gone.value.events.length)} events back.<//>`}
    ${found.value?.searched && html`<${Note} icon="q">The ${count(found.value.searched)} sessions used last were looked through: the store of these sessions cannot search.<//>`}
    ${failed.value && html`<${Failure} error=${failed.value} retry=${load} />`}
    ${found.value && !list.length ? html`<${Empty} title=${query ? "No session says that" : "No session yet"} action=${!stored.value && html`<a class="b main" href=${toSession(app.value)}>New session</a>`}>${query ? "Try a word of a message, or another tool, agent, cost or time." : "A session begins with the first message."}<//>`
      : html`<div class="scroll" tabindex="0"><table><colgroup><col /><col style="width:100px" /><col class="hide-s" style="width:80px" /><col class="hide-s" style="width:100px" /><col style="width:90px" /><col class="hide-s" style="width:150px" /></colgroup>
        <thead><tr><th>title</th><th>state</th><th class="num hide-s">events</th><th class="hide-s">used</th><th class="num">cost</th><th class="hide-s"></th></tr></thead><tbody>
        ${list.map((/** @type {any} */ one) => html`<tr key=${one.id} data-row><td><a href=${toSession(app.value, one.id)}><bdi>${one.title || "Without words"}</bdi></a></td><td><${Status} is=${one.status} /></td><td class="num hide-s">${count(one.events)}</td>
          <td class="hide-s q2" title=${iso(one.lastUpdateTime)}>${ago(one.lastUpdateTime)}</td><td class="num">${one.cost == null ? "" : money(one.cost, one.incomplete)}</td>
          <td class="hide-s num"><${Export} id=${one.id} />${!stored.value && html`<${Button} kind="quiet" label="Delete the session" onClick=${() => drop(one.id)}>Delete<//>`}</td></tr>`)}</tbody></table></div>`}`;
}

/** An exported session, from a file or pasted. @param {{ done: () => void }} props */
function Import({ done }) {
  const failed = useSignal(/** @type {any} */ (null));
  const made = useSignal(/** @type {any} */ (null));
  const take = async (/** @type {string} */ text) => {
    failed.value = made.value = null;
    try { made.value = await importSession(text); done(); } catch (error) { failed.value = error; }
  };
  const submit = async (/** @type {any} */ e) => {
    e.preventDefault();
    const file = e.target.elements.file.files[0];
    await take(file ? await file.text() : e.target.elements.text.value);
  };
  return html`<form class="insp bordered" onSubmit=${submit}>
    <p class="q2">A session that this page, google-adk’s page or <code>newel sessions export</code> saved. It becomes one of ${user.value} with ${app.value}; events that are there already are not added again.</p>
    <label>File <input type="file" name="file" accept=".json,application/json" /></label>
    <textarea class="ed" name="text" rows="4" aria-label="Or paste the JSON" placeholder="Or paste the JSON"></textarea>
    ${failed.value && html`<${Failure} error=${failed.value} />`}
    ${made.value && html`<${Note} kind="acc" icon="ok"><a href=${toSession(app.value, made.value.id)}>The session</a> ${made.value.added ? `is added, with ${count(made.value.events)} events.` : "was already here."}<//>`}
    <div class="acts"><button type="submit" class="b main">Import</button></div></form>`;
}

/** @param {{ id: string }} props */
function Export({ id }) {
  const save = async () => {
    const whole = await get("get_session", { app_name: app.value, user_id: user.value, session_id: id });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 2)], { type: "application/json" }));
    link.download = `session-${id}.json`;
    link.click();
  };
  return html`<${Button} kind="quiet" label="Save the session as JSON" onClick=${save}>Export<//>`;
}
