/** The tree of a run: its agents, model calls and tool calls, from the spans of the API and the events that they made. */
import { callWith, failureText, isFailure, noUsage, addUsage, responses } from "../log.js";

/**
 * @typedef {object} Node
 * @property {string} id
 * @property {"run" | "agent" | "node" | "model" | "tool" | "retry" | "other"} kind
 * @property {string} name
 * @property {string} detail
 * @property {number} began  seconds, Unix time
 * @property {number} ended
 * @property {Node[]} children
 * @property {import("../log.js").Usage} usage
 * @property {string | null} error
 * @property {boolean} asks
 * @property {number | null} event  the index of the event that it made
 * @property {number | null} first  seconds until a model's first token; null: it did not stream, or nobody watched
 * @property {boolean} stored  whether it was read from the stored events, which know less
 * @property {any[]} frames  where it failed: the user's own lines, the innermost last
 * @property {Record<string, any>} attributes
 */

const KINDS = /** @type {Record<string, Node["kind"]>} */ ({ invoke_workflow: "run", invoke_agent: "agent", invoke_node: "node", retry: "retry", generate_content: "model", execute_tool: "tool" });
const EVENT = "gcp.vertex.agent.event_id";
const INVOCATION = "gcp.vertex.agent.invocation_id";

/**
 * @param {any[]} spans @param {string} invocation @param {any[]} events @param {{ name: string, args: any, id: string }[]} open what waits for an answer
 * @returns {Node | null}
 */
export function treeOf(spans, invocation, events, open) {
  const own = spans.filter((one) => one.attributes[INVOCATION] === invocation);
  if (!own.length) return null;
  const indexOf = new Map(events.map((event, index) => [event.id, index]));
  const nodes = new Map(own.map((span) => [span.span_id, nodeOf(span, events, indexOf, open)]));
  let root = null;
  for (const span of own) {
    const node = /** @type {Node} */ (nodes.get(span.span_id));
    const parent = nodes.get(span.parent_span_id);
    if (parent && parent !== node) parent.children.push(node);
    else if (!root) root = node;
    else root.children.push(node);
  }
  if (!root) return null;
  sum(root);
  return root;
}

/** @param {any} span @param {any[]} events @param {Map<string, number>} indexOf @param {any[]} open @returns {Node} */
function nodeOf(span, events, indexOf, open) {
  const attributes = span.attributes;
  const kind = KINDS[attributes["gen_ai.operation.name"]] ?? "other";
  const index = indexOf.get(attributes[EVENT]) ?? null;
  const event = index === null ? null : events[index];
  const node = /** @type {Node} */ ({
    id: String(span.span_id), kind, name: span.name, detail: "", began: span.start_time / 1e9, ended: span.end_time / 1e9,
    children: [], usage: noUsage(), error: attributes["error.type"] ?? null, asks: false, event: index, attributes,
    first: attributes["gen_ai.response.time_to_first_chunk"] ?? null, stored: Boolean(attributes["newel.from_events"]), frames: attributes["newel.error.frames"] ?? [],
  });
  if (node.error && attributes["newel.error"]) node.error = attributes["newel.error"];
  if (kind === "node") node.name = span.name.replace(/^invoke_node /, "");
  if (kind === "retry") {
    node.name = `asked again after ${attributes["newel.retry.error_type"]}`;
    node.detail = `by ${attributes["newel.retry.policy"]}`;
  }
  if (kind === "agent") node.name = attributes["gen_ai.agent.name"];
  if (kind === "model") {
    node.name = "call";
    node.detail = attributes["gen_ai.response.model"] ?? attributes["gen_ai.request.model"] ?? "";
    if (event) addUsage(node.usage, event);
    if (event?.errorCode) node.error = `${event.errorCode}${event.errorMessage ? `: ${event.errorMessage}` : ""}`;
  }
  if (kind === "tool") {
    node.name = attributes["gen_ai.tool.name"];
    const id = attributes["gen_ai.tool.call.id"];
    const call = callWith(events, id);
    node.detail = Object.values(call?.args ?? {}).map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join(", ").slice(0, 120);
    node.asks = open.some((one) => one.name === call?.name && JSON.stringify(one.args) === JSON.stringify(call?.args ?? {}));
    const result = event && responses(event).find((one) => one.id === id)?.response;
    if (node.asks) node.error = null;
    else if (isFailure(result)) node.error = failureText(result);
  }
  return node;
}

/** @param {Node} node */
function sum(node) {
  node.children.sort((one, other) => one.began - other.began);
  for (const child of node.children) {
    sum(child);
    node.usage.in += child.usage.in; node.usage.cached += child.usage.cached; node.usage.written += child.usage.written;
    node.usage.out += child.usage.out; node.usage.reasoning += child.usage.reasoning; node.usage.calls += child.usage.calls;
    node.usage.incomplete ||= child.usage.incomplete;
    if (child.usage.cost !== null) node.usage.cost = (node.usage.cost ?? 0) + child.usage.cost;
    if (child.kind !== "agent" || node.kind !== "run") node.ended = Math.max(node.ended, child.ended);
  }
}

/** The nodes in sight, with their depth. @param {Node} root @param {Set<string>} folded @returns {{ node: Node, depth: number }[]} */
export function rowsOf(root, folded) {
  /** @type {{ node: Node, depth: number }[]} */
  const rows = [];
  /** @param {Node} node @param {number} depth */
  const walk = (node, depth) => {
    rows.push({ node, depth });
    if (!folded.has(node.id)) for (const child of node.children) walk(child, depth + 1);
  };
  walk(root, 0);
  return rows;
}

/** What failed by itself, and not because something in it did. @param {Node} node */
export const failedItself = (node) => Boolean(node.error) && !["run", "agent", "node"].includes(node.kind);

/** The waits before a model was asked again. @param {Node} node */
export const retriesOf = (node) => node.children.filter((one) => one.kind === "retry");

/** @param {Node} root @returns {Node[]} */
export const all = (root) => [root, ...root.children.flatMap(all)];
