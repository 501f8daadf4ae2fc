/** Questions as cards: what will be done, the arguments, who asks; answered once. */
import { html, useSignal } from "../vendor/preact.js";
import { ago, brief, duration, visible } from "./format.js";
import { answer, stored } from "./store.js";
import { Button, Icon, Note } from "./ui.js";

const TITLES = /** @type {Record<string, string>} */ ({ approval: "Approval", input: "Input", credential: "Log-in", result: "Result" });

/** @param {{ question: any, place?: any }} props */
export function Question({ question, place }) {
  const sending = useSignal("");
  const wrong = useSignal(/** @type {any} */ (null));
  const give = async (/** @type {unknown} */ value, /** @type {string} */ word) => {
    if (sending.value) return;
    sending.value = word;
    wrong.value = null;
    const error = await answer(question, value);
    sending.value = "";
    wrong.value = error;
  };
  const asked = question.asked;
  const since = asked && (Date.now() / 1000 - asked < 86400 ? `${duration(Date.now() / 1000 - asked)} ago` : ago(asked));
  const Body = stored.value ? Waits : BODIES[question.kind] ?? Result;
  return html`<section class="card" aria-label=${`${question.author} asks for ${question.kind}`}>
    <header><${Icon} name="wait" kind="warn" /><b>${TITLES[question.kind] ?? question.kind}</b><span>${visible(question.author)} asks${since ? `, ${since}` : ""}</span>${place}</header>
    <div class="body"><${Body} question=${question} give=${give} sending=${sending.value} />
      ${wrong.value && html`<${Note} kind="bad" icon="x"><b>${wrong.value.status === 404 ? "This question is not open any more." : "The answer was not taken."}</b> ${wrong.value.message}<//>`}</div>
  </section>`;
}

/** @param {{ args: Record<string, unknown> }} props */
const Arguments = ({ args }) => Object.entries(args).map(([name, value]) => html`<dt>${visible(name)}</dt><dd><code><bdi>${brief(value, 2000)}</bdi></code></dd>`);

/** Whether a hint is more than the specified sentence, which says nothing. @param {string} hint */
const saysMore = (hint) => Boolean(hint) && !hint.startsWith("Please approve or reject the tool call");

/** A question that cannot be answered here. @param {any} props */
const Waits = ({ question }) => html`<div class="what">${saysMore(question.hint) ? visible(question.hint) : html`Run <code>${visible(question.name)}</code>`}</div>
  <dl class="dl"><dt>tool</dt><dd><code>${visible(question.name)}</code></dd><${Arguments} args=${question.args} /></dl>
  <p class="q2 small">It waits for an answer, which this page cannot give: it only reads.</p>`;

/** @param {any} props */
const Approval = ({ question, give, sending }) => html`
  <div class="what">${saysMore(question.hint) ? visible(question.hint) : html`Run <code>${visible(question.name)}</code>`}</div>
  <dl class="dl"><dt>tool</dt><dd><code>${visible(question.name)}</code></dd><${Arguments} args=${question.args} /></dl>
  <div class="acts"><${Button} kind="main" disabled=${Boolean(sending)} onClick=${() => give({ confirmed: true }, "Approve")}>${sending === "Approve" ? "Approving" : "Approve"}<//>
    <${Button} disabled=${Boolean(sending)} onClick=${() => give({ confirmed: false }, "Reject")}>${sending === "Reject" ? "Rejecting" : "Reject"}<//></div>`;

/** A form from the schema of the answer. @param {any} props */
function Form({ question, give, sending }) {
  const schema = question.responseSchema ?? {};
  const fields = schema.type === "object" ? Object.entries(schema.properties ?? {}) : null;
  const wrong = useSignal("");
  const submit = (/** @type {any} */ e) => {
    e.preventDefault();
    wrong.value = "";
    const form = new FormData(e.target);
    try {
      if (fields) give(Object.fromEntries(fields.map(([name, one]) => [name, valueOf(form.get(name), one)]).filter(([, value]) => value !== undefined)), "Send");
      else give(valueOf(form.get("value"), schema), "Send");
    } catch (error) { wrong.value = /** @type {any} */ (error).message; }
  };
  return html`<form onSubmit=${submit}><div class="what">${visible(question.hint || "The agent needs an answer.")}</div>
    <div class="fields">${fields ? fields.map(([name, one]) => html`<${Field} name=${name} schema=${one} required=${schema.required?.includes(name)} />`) : html`<${Field} name="value" schema=${schema} options=${question.options} />`}</div>
    ${wrong.value && html`<p class="bad">${wrong.value}</p>`}
    <div class="acts"><button type="submit" class="b main" disabled=${Boolean(sending)}>${sending ? "Sending" : "Send"}</button></div></form>`;
}

/** @param {{ name: string, schema: any, required?: boolean, options?: string[] }} props */
function Field({ name, schema, required, options }) {
  const label = schema.title ?? (name === "value" ? "Answer" : name);
  const choices = schema.enum ?? (options?.length ? options : null);
  const input = choices
    ? html`<select name=${name} aria-label=${label}>${!required && html`<option value=""></option>`}${choices.map((/** @type {any} */ one) => html`<option value=${JSON.stringify(one)}>${String(one)}</option>`)}</select>`
    : schema.type === "boolean"
      ? html`<select name=${name} aria-label=${label}><option value="true">yes</option><option value="false">no</option></select>`
      : html`<input name=${name} aria-label=${label} required=${required} type=${schema.type === "number" || schema.type === "integer" ? "number" : "text"} step=${schema.type === "integer" ? "1" : "any"} />`;
  return html`<label class="field"><span>${visible(label)}${required ? "" : html` <span class="q">optional</span>`}</span><span class="f">${input}</span>
    ${schema.description && html`<span class="q2">${visible(schema.description)}</span>`}</label>`;
}

/** @param {FormDataEntryValue | null} text @param {any} schema */
function valueOf(text, schema) {
  if (text === null || text === "") return undefined;
  if (schema.enum) return JSON.parse(String(text));
  if (schema.type === "number" || schema.type === "integer") return Number(text);
  if (schema.type === "boolean") return text === "true";
  if (schema.type === "object" || schema.type === "array") {
    try { return JSON.parse(String(text)); } catch { throw new Error(`This must be JSON, for example ${schema.type === "array" ? "[1, 2]" : '{"key": "value"}'}.`); }
  }
  try { return /^".*"$/.test(String(text)) ? JSON.parse(String(text)) : text; } catch { return text; }
}

/** @param {any} props */
const LogIn = ({ question }) => {
  const url = question.args?.authConfig?.exchangedAuthCredential?.oauth2?.authUri ?? "";
  return html`<div class="what">${visible(question.hint || "The agent wants to act for you.")}</div>
    ${/^https?:/.test(url) ? html`<p>It leads to <b>${new URL(url).host}</b>.</p><div class="acts"><a class="b main" href=${url} target="_blank" rel="noopener noreferrer">Log in</a></div>` : html`<p class="q2">Give the credential in the terminal: <code>newel chat</code> asks for it without showing it.</p>`}`;
};

/** @param {any} props */
function Result({ question, give, sending }) {
  const wrong = useSignal("");
  const submit = (/** @type {any} */ e) => {
    e.preventDefault();
    const text = String(new FormData(e.target).get("value") ?? "");
    let value;
    try { value = JSON.parse(text); } catch { value = { result: text }; }
    give(value, "Send");
  };
  return html`<form onSubmit=${submit}><div class="what"><code>${visible(question.name)}</code> has no result yet</div>
    <dl class="dl"><${Arguments} args=${question.args} /></dl>
    <label class="field"><span>Its result, JSON or words</span><span class="f"><input name="value" aria-label="Result" required /></span></label>
    ${wrong.value}<div class="acts"><button type="submit" class="b main" disabled=${Boolean(sending)}>${sending ? "Sending" : "Send"}</button></div></form>`;
}

/** @type {Record<string, any>} */
const BODIES = { approval: Approval, input: Form, credential: LogIn, result: Result };
