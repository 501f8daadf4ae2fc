/** The composer: write, attach, steer, stop. */
import { html, useEffect, useRef, useSignal } from "../vendor/preact.js";
import { size } from "./format.js";
import { Microphone } from "./live.js";
import { editing, questions, running, say, session, stop, user } from "./store.js";
import { Button, Icon } from "./ui.js";

/** Drafts of sessions that are not open. @type {Map<string, string>} */
const drafts = new Map();
/** The largest file that goes along with a message, in bytes. */
const MOST = 10_000_000;

export function Composer() {
  const id = session.value?.id ?? "";
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const files = useSignal(/** @type {any[]} */ ([]));
  const sending = useSignal(false);
  const refused = useSignal("");
  const asks = questions.value.some((one) => one.sessionId === id);
  const hint = running.value ? "Write to steer the run" : asks ? "Answer above, or write a message" : "Write a message";
  const write = async () => {
    const text = field.current?.value.trim() ?? "";
    if ((!text && !files.value.length) || sending.value) return;
    sending.value = true;
    const parts = [...(text ? [{ text }] : []), ...files.value.map((one) => ({ inlineData: one }))];
    if (field.current) field.current.value = "";
    const said = await say(parts);
    sending.value = false;
    if (said) { files.value = []; drafts.delete(id); } else if (field.current) field.current.value = text;
  };
  const onKey = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); write(); }
  };
  const attach = async (/** @type {any} */ e) => {
    refused.value = "";
    for (const file of e.target.files) {
      if (file.size > MOST) refused.value = `${file.name} is larger than ${size(MOST)}: save it as an artifact, or give the agent a link.`;
      else files.value = [...files.value, await encoded(file)];
    }
    e.target.value = "";
  };
  const again = editing.value;
  useEffect(() => {
    if (again === null || !field.current) return;
    field.current.value = (session.value?.events[again]?.content?.parts ?? []).map((/** @type {any} */ one) => one.text ?? "").join("");
    field.current.focus();
  }, [again]);
  return html`<div class="compose">${again !== null && html`<p class="q2 small">Sent again, it begins a session of its own with what was said before it. <${Button} kind="quiet" onClick=${() => { editing.value = null; }}>Leave it<//></p>`}${refused.value && html`<p class="bad">${refused.value}</p>`}<div class="box">
    <textarea id="write" ref=${field} rows="2" aria-label=${hint} placeholder=${hint} key=${id} onKeyDown=${onKey}
      onInput=${(/** @type {any} */ e) => drafts.set(id, e.target.value)}>${drafts.get(id) ?? ""}</textarea>
    ${files.value.length > 0 && html`<div class="atts">${files.value.map((one, n) => html`<span class="att"><${Icon} name="file" />${one.displayName}
      <${Button} kind="quiet" icon="x" label=${`Leave out ${one.displayName}`} onClick=${() => { files.value = files.value.filter((_, at) => at !== n); }} /></span>`)}</div>`}
    <div class="bar"><label class="b quiet icon" title="Attach a file"><${Icon} name="clip" /><span class="sr">Attach a file</span><input type="file" multiple class="sr" onChange=${attach} /></label><${Microphone} />
      <span class="grow"></span><span class="q hide-s as">as ${user.value}</span>
      ${running.value && html`<${Button} icon="stop" label="Stop the run" keys="Esc" onClick=${stop}>Stop<//>`}
      <${Button} kind="main" icon="send" label="Send" onClick=${write} /></div></div></div>`;
}

/** A file as a part of a message. @param {File} file */
async function encoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return { data: btoa(text), mimeType: file.type || "application/octet-stream", displayName: file.name };
}
