/** All sessions of the agent: search, delete with a way back, export. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { ago, count, iso, money } from "../format.js";
import { ask, go, route, toSession } from "../route.js";
import { app, deleteSession, restoreSession, summaries, user } from "../store.js";
import { Button, Empty, Failure, Note, Search, Status } from "../ui.js";

const PAGE = 100;

export default function Sessions() {
  const query = route.value.query.get("q") ?? "";
  const found = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const gone = useSignal(/** @type {any} */ (null));
  const load = async () => {
    try {
      const page = await get("list_session_summaries", { app_name: app.value, user_id: user.value }, { query: { limit: PAGE, query } });
      if ((route.value.query.get("q") ?? "") === query) { found.value = page; failed.value = null; }
    } catch (error) { failed.value = error; }
  };
  useEffect(() => { if (!app.value) return undefined; const timer = setTimeout(load, query ? 200 : 0); return () => clearTimeout(timer); }, [query, app.value, summaries.value]);
  const drop = async (/** @type {string} */ id) => { const whole = await deleteSession(id); if (whole) { gone.value = whole; load(); } };
  const undo = async () => { await restoreSession(gone.value); gone.value = null; load(); };
  const list = found.value?.sessions ?? [];
  return html`<div class="head"><h2>Sessions of ${app.value}</h2><span class="q2">${found.value ? count(found.value.total) : ""}</span></div>
    <div class="filters"><${Search} label="Search text, titles and tools" value=${query} onInput=${(/** @type {string} */ text) => ask("q", text)} /></div>
    ${gone.value && html`<${Note} kind="warn" icon="warn" action=${html`<${Button} onClick=${undo}>Undo<//>`}>The session is deleted. Undo puts its ${count(gone.value.events.length)} events back.<//>`}
    ${failed.value && html`<${Failure} error=${failed.value} retry=${load} />`}
    ${found.value && !list.length ? html`<${Empty} title=${query ? "No session says that" : "No session yet"} action=${html`<a class="b main" href=${toSession(app.value)}>New session</a>`}>${query ? "Try a word of a message, or the name of a tool." : "A session begins with the first message."}<//>`
      : html`<div class="scroll" tabindex="0"><table><colgroup><col /><col style="width:100px" /><col class="hide-s" style="width:80px" /><col class="hide-s" style="width:100px" /><col style="width:90px" /><col class="hide-s" style="width:150px" /></colgroup>
        <thead><tr><th>title</th><th>state</th><th class="num hide-s">events</th><th class="hide-s">used</th><th class="num">cost</th><th class="hide-s"></th></tr></thead><tbody>
        ${list.map((/** @type {any} */ one) => html`<tr key=${one.id} data-row><td><a href=${toSession(app.value, one.id)}><bdi>${one.title || "Without words"}</bdi></a></td><td><${Status} is=${one.status} /></td><td class="num hide-s">${count(one.events)}</td>
          <td class="hide-s q2" title=${iso(one.lastUpdateTime)}>${ago(one.lastUpdateTime)}</td><td class="num">${one.cost == null ? "" : money(one.cost, one.incomplete)}</td>
          <td class="hide-s num"><${Export} id=${one.id} /><${Button} kind="quiet" label="Delete the session" onClick=${() => drop(one.id)}>Delete<//></td></tr>`)}</tbody></table></div>`}`;
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
