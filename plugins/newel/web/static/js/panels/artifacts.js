/** Artifacts: files in versions, with a preview of what a browser can show safely. */
import { html, useEffect, useSignal } from "../../vendor/preact.js";
import { get } from "../api.js";
import { clock, size, visible } from "../format.js";
import { markdown } from "../markdown.js";
import { go, route, toSession } from "../route.js";
import { events, session, stored, user } from "../store.js";
import { Empty, Failure, Icon, Seg } from "../ui.js";

const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/;

export default function Artifacts() {
  const at = session.value;
  const names = useSignal(/** @type {string[] | null} */ (null));
  const versions = useSignal(/** @type {any[]} */ ([]));
  const file = useSignal(/** @type {any} */ (null));
  const failed = useSignal(/** @type {any} */ (null));
  const [name = names.value?.[0] ?? "", wanted = ""] = route.value.rest;
  const place = { app_name: at?.app ?? "", user_id: user.value, session_id: at?.id ?? "" };
  const attempt = async (/** @type {() => Promise<void>} */ work) => { try { await work(); failed.value = null; } catch (error) { failed.value = error; } };
  useEffect(() => { if (at) attempt(async () => { names.value = await get("list_artifacts", place); }); }, [at?.id, events.value.length]);
  useEffect(() => {
    file.value = null;
    if (at && name) attempt(async () => {
      versions.value = await get("list_artifact_metadata", { ...place, artifact_name: name });
      const version = wanted || versions.value[versions.value.length - 1]?.version;
      if (version !== undefined) file.value = await get("load_artifact_version", { ...place, artifact_name: name, version_id: version });
    });
  }, [at?.id, name, wanted, events.value.length]);
  if (failed.value) return html`<${Failure} error=${failed.value} />`;
  if (!at || !names.value) return null;
  if (!names.value.length && stored.value && !stored.value.artifacts) return html`<${Empty} title="Files are kept elsewhere">A store of sessions holds no files. Name their store, too: <code>--artifacts file:///FOLDER</code>.<//>`;
  if (!names.value.length) return html`<${Empty} title="No file yet">Files that are attached, or that tools save, appear here: <code>await tool_context.save_artifact(name, part)</code>.<//>`;
  const version = String(wanted || (versions.value[versions.value.length - 1]?.version ?? ""));
  const link = (/** @type {(string | number)[]} */ ...rest) => toSession(at.app, at.id, "artifacts", ...rest);
  return html`<div class="split"><div tabindex="0"><table><thead><tr><th>file</th></tr></thead><tbody>
      ${names.value.map((one) => html`<tr key=${one} data-row tabindex="0" aria-selected=${String(one === name)} onClick=${() => go(link(one))}><td><${Icon} name="file" /> <bdi>${visible(one)}</bdi></td></tr>`)}</tbody></table></div>
    <div class="insp" tabindex="0"><h2><bdi>${visible(name)}</bdi><span class="grow"></span>${file.value && html`<${Download} name=${name} part=${file.value} />`}</h2>
      ${file.value && html`<${Preview} part=${file.value} />`}
      <dl class="dl"><dt>version</dt><dd><${Seg} label="Version" chosen=${version} options=${versions.value.slice(-8).map((one) => ({ name: String(one.version), label: `${one.version}, ${clock(one.createTime ?? one.create_time ?? 0)}`, href: link(name, one.version) }))} /></dd>
        <dt>type</dt><dd>${visible(file.value?.inlineData?.mimeType ?? (file.value?.text !== undefined ? "text" : ""))}</dd></dl></div></div>`;
}

/** @param {any} part */
const base64 = (part) => (part.inlineData?.data ?? "").replace(/-/g, "+").replace(/_/g, "/");
/** @param {any} part */
function bytesOf(part) {
  if (part.text !== undefined) return new TextEncoder().encode(part.text);
  return Uint8Array.from(atob(base64(part)), (one) => one.charCodeAt(0));
}

/** @param {{ part: any }} props */
function Preview({ part }) {
  const kind = part.inlineData?.mimeType ?? "";
  if (part.text !== undefined) return html`<div class="prose bordered pad" dir="auto">${markdown(part.text.slice(0, 20_000))}</div>`;
  if (PICTURES.test(kind)) return html`<div class="preview"><img src=${`data:${kind};base64,${base64(part)}`} alt="" /></div>`;
  if (kind.startsWith("audio/")) return html`<audio controls src=${`data:${kind};base64,${base64(part)}`}></audio>`;
  if (kind.startsWith("text/") || kind === "application/json" || kind.includes("svg") || kind.includes("xml")) return html`<pre class="json bordered" tabindex="0">${new TextDecoder().decode(bytesOf(part)).slice(0, 20_000)}</pre>`;
  return html`<div class="preview q2">No preview of ${visible(kind || "this type")}</div>`;
}

/** @param {{ name: string, part: any }} props */
function Download({ name, part }) {
  const bytes = bytesOf(part);
  const make = (/** @type {any} */ e) => { e.currentTarget.href = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" })); };
  return html`<span class="q small">${size(bytes.length)}</span><a class="b" href="#" download=${name.replace(/^user:/, "").split(/[\\/]/).pop()} onClick=${make}><${Icon} name="down2" />Download</a>`;
}
