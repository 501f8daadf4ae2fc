/** What waits for a person, over all sessions of the agent. */
import { html } from "../../vendor/preact.js";
import { count } from "../format.js";
import { Question } from "../questions.js";
import { toSession } from "../route.js";
import { app, questions, summaries } from "../store.js";
import { Empty } from "../ui.js";

export default function Questions() {
  const list = questions.value;
  if (!list.length) return html`<div class="head"><h2>Questions</h2></div><${Empty} title="Nothing waits for you">Approvals, forms, log-ins and long-running results of all sessions with ${app.value} stand here until they are answered.<//>`;
  const titleOf = (/** @type {string} */ id) => summaries.value?.sessions.find((one) => one.id === id)?.title || "Open the session";
  return html`<div class="head"><h2>Questions</h2><span class="q2">${list.length === 1 ? "1 waits" : `${count(list.length)} wait`}</span></div><div class="scroll pad cards" tabindex="0">
    ${list.map((one) => html`<${Question} key=${one.id} question=${one} place=${html`<span class="grow"></span><a class="cut" href=${toSession(app.value, one.sessionId)}><bdi>${titleOf(one.sessionId)}</bdi></a>`} />`)}</div>`;
}
