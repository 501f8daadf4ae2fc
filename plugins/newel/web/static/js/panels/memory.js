/** Memory: what the agent would find about the user. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { visible } from "../format.js";
import { markdown } from "../markdown.js";
import { ask, route, toSession } from "../route.js";
import { app, user } from "../store.js";
import { Empty, Failure, Search } from "../ui.js";

export default function Memory() {
  const query = route.value.query.get("q") ?? "";
  const found = useSignal(/** @type {any[] | null} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  useEffect(() => {
    if (!query.trim()) { found.value = null; return undefined; }
    const timer = setTimeout(async () => {
      try { found.value = (await get("search_memory", { app_name: app.value, user_id: user.value }, { query: { query } })).memories; failed.value = null; } catch (error) { failed.value = error; }
    }, 200);
    return () => clearTimeout(timer);
  }, [query, app.value]);
  return html`<div class="filters"><${Search} label=${`Search the memory of ${user.value}`} value=${query} onInput=${(/** @type {string} */ text) => ask("q", text)} />${found.value && html`<span class="q2 small">${found.value.length} found</span>`}</div>
    ${failed.value && html`<${Failure} error=${failed.value} />`}
    ${!found.value && html`<${Empty} title="Search the memory">Type a word: what earlier sessions left in the memory appears here, the best first. An agent writes it with <code>add_session_to_memory</code>.<//>`}
    ${found.value?.length === 0 && html`<${Empty} title="Nothing is remembered of that">Try another word. Sessions enter the memory when the agent puts them there.<//>`}
    <div class="scroll" tabindex="0">${found.value?.map((one) => html`<div class="what2"><div class="prose" dir="auto">${(one.content?.parts ?? []).map((/** @type {any} */ part) => markdown(part.text ?? ""))}</div>
      <div class="sum"><span>${visible(one.author ?? "")}${one.timestamp ? `, ${one.timestamp}` : ""}</span>${one.session_id && html`<a href=${toSession(app.value, one.session_id)}>Open its session</a>`}<span class="grow"></span>${one.score != null && html`<span>score ${Number(one.score).toFixed(2)}</span>`}</div></div>`)}</div>`;
}
