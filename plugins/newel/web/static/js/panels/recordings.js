/** Recordings: how the request of a model call came to be, found for a call of the log. */

/**
 * The recording of a call. Recordings are of this server's process, so the last ones of an agent's calls belong together.
 * @param {import("../log.js").ModelCall} call @param {import("../log.js").ModelCall[]} calls @param {any[]} recordings
 */
export function recordingOf(call, calls, recordings) {
  const own = calls.filter((one) => one.invocation === call.invocation && one.agent === call.agent && same(one.entry.event, call.entry.event));
  const made = recordings.filter((one) => one.called && one.invocation_id === call.invocation && one.agent === call.agent && (one.branch ?? null) === (call.entry.event.branch ?? null));
  const at = own.indexOf(call);
  return made[made.length - own.length + at] ?? null;
}

/** @param {any} one @param {any} other */
const same = (one, other) => (one.branch ?? null) === (other.branch ?? null);

/** The parts of a request as lines, each with the step that wrote it. @param {any} recording */
export function blameOf(recording) {
  /** @type {Map<string, any>} */
  const owners = new Map();
  /** @type {{ text: string, step: any }[]} */
  let system = [];
  for (const step of recording.steps) {
    for (const change of step.changes) {
      if (change.path === "/system_instruction") system = written(system, change.op === "remove" ? "" : asText(change.value), step);
      else owners.set(change.path, step);
    }
  }
  const ownerOf = (/** @type {string} */ path) => {
    for (let at = path; at; at = at.slice(0, at.lastIndexOf("/"))) if (owners.has(at)) return owners.get(at);
    return null;
  };
  const { after } = recording;
  const messages = (after.contents ?? []).flatMap((/** @type {any} */ content, /** @type {number} */ n) => messageLines(content).map((/** @type {string} */ text) => ({ text, step: ownerOf(`/contents/${n}`) })));
  const tools = (after.tools ?? []).flatMap((/** @type {any} */ tool, /** @type {number} */ t) => (tool.function_declarations ?? [tool]).map((/** @type {any} */ one, /** @type {number} */ n) => (
    { text: `${one.name ?? "a tool of the provider"}(${Object.keys(one.parameters_json_schema?.properties ?? one.parameters?.properties ?? {}).join(", ")})${one.description ? `: ${one.description.split("\n")[0]}` : ""}`, step: ownerOf(`/tools/${t}/function_declarations/${n}`), size: JSON.stringify(one).length })));
  const settings = [...(after.model ? [{ text: `model = ${after.model}`, step: ownerOf("/model") }] : []),
    ...Object.entries(after.config ?? {}).map(([name, value]) => ({ text: `${name} = ${JSON.stringify(value)}`, step: ownerOf(`/config/${name}`) }))];
  return { system, messages, tools, settings };
}

/** @param {any} value */
const asText = (value) => (typeof value === "string" ? value : (value?.parts ?? [value]).map((/** @type {any} */ one) => one?.text ?? JSON.stringify(one)).join("\n"));

/** The lines of a text that a step has changed: what was there keeps its owner. @param {{ text: string, step: any }[]} before @param {string} text @param {any} step */
function written(before, text, step) {
  const lines = text.split("\n");
  let start = 0;
  while (start < before.length && start < lines.length && before[start].text === lines[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < lines.length - start && before[before.length - 1 - end].text === lines[lines.length - 1 - end]) end += 1;
  const middle = lines.slice(start, lines.length - end).map((one) => ({ text: one, step }));
  return [...before.slice(0, start), ...middle, ...before.slice(before.length - end)];
}

/** A message in lines. @param {any} content */
export function messageLines(content) {
  return (content.parts ?? []).flatMap((/** @type {any} */ part) => {
    const who = part.function_response ? "tool" : content.role ?? "";
    return `${who}: ${partText(part)}`.split("\n");
  });
}

/** @param {any} part */
function partText(part) {
  if (part.text !== undefined) return part.thought ? `(thought) ${part.text}` : part.text;
  if (part.function_call) return `${part.function_call.name}(${JSON.stringify(part.function_call.args ?? {})})`;
  if (part.function_response) return `${part.function_response.name} → ${JSON.stringify(part.function_response.response)}`;
  if (part.inline_data) return `[file ${part.inline_data.display_name ?? part.inline_data.mime_type}]`;
  return JSON.stringify(part);
}

/** All lines of a request in the order in which providers cache them. @param {any} recording */
export function linesOf(recording) {
  const blame = blameOf(recording);
  return [...blame.tools.map((/** @type {any} */ one) => ({ ...one, part: "tools" })), ...blame.system.map((one) => ({ ...one, part: "system instruction" })), ...blame.messages.map((/** @type {any} */ one) => ({ ...one, part: "messages" }))];
}

/** @param {any} step */
export const ownerOf = (step) => (step.package ? `${step.package} ${step.version}` : "this agent");
/** @param {any} step */
export const nameOf = (step) => (step.kind === "tools" ? "tools" : step.kind === "callback" ? `before_model of ${step.name}` : step.name);
