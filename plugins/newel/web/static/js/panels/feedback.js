/** What people think of answers, over all sessions: filtered, and saved as JSON. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { ago, iso, visible } from "../format.js";
import { ask, route, toSession } from "../route.js";
import { app, user } from "../store.js";
import { Button, Chip, Empty, Failure, Icon } from "../ui.js";

export function Feedback() {
  const found = useSignal(/** @type {any[] | null} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const rating = route.value.query.get("rating") ?? "";
  const load = () => get("list_feedback", { app_name: app.value, user_id: user.value }, { query: rating ? { rating } : {} }).then((list) => { found.value = list; failed.value = null; }, (error) => { failed.value = error; });
  useEffect(() => { if (app.value) load(); }, [app.value, rating]);
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(found.value, null, 2)], { type: "application/json" }));
    link.download = `feedback-${app.value}.json`;
    link.click();
  };
  const chip = (/** @type {string} */ name, /** @type {string} */ words) => html`<${Chip} on=${rating === name} onClick=${() => ask("rating", rating === name ? "" : name)}>${words}<//>`;
  if (failed.value) return html`<${Failure} error=${failed.value} retry=${load} />`;
  if (!found.value) return null;
  return html`<div class="filters">${chip("up", "good answers")}${chip("down", "bad answers")}<span class="grow"></span>${found.value.length > 0 && html`<${Button} icon="down2" onClick=${save}>Export<//>`}</div>
    ${!found.value.length ? html`<${Empty} title="No answer is rated">The thumbs below an answer store what you think of it with its event. No model sees it.<//>`
      : html`<div class="scroll" tabindex="0"><table><colgroup><col style="width:90px" /><col /><col class="hide-s" style="width:160px" /><col class="hide-s" style="width:90px" /><col style="width:90px" /></colgroup><thead><tr><th>rating</th><th>answer</th><th class="hide-s">by</th><th class="hide-s">rated</th><th></th></tr></thead><tbody>
        ${found.value.map((one) => html`<tr key=${one.eventId}><td><span class=${`st ${one.rating === "up" ? "ok" : "bad"}`}><${Icon} name=${one.rating === "up" ? "up" : "dn"} />${one.rating === "up" ? "good" : "bad"}</span></td>
          <td title=${one.text}><bdi>${visible(one.text)}</bdi>${one.comment && html` <span class="q2">${visible(one.comment)}</span>`}</td><td class="hide-s"><bdi>${visible(one.author)}</bdi></td><td class="hide-s q2" title=${iso(one.timestamp)}>${ago(one.timestamp)}</td>
          <td class="num"><a href=${toSession(app.value, one.sessionId, "events", one.index + 1)}>Event ${one.index + 1}</a></td></tr>`)}</tbody></table></div>`}`;
}
