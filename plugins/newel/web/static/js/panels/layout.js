/** Layers of a graph, and what each of its nodes did. Pure functions. */
import { noUsage } from "../log.js";
import { failedItself } from "./tree.js";

/** @typedef {{ usage: import("../log.js").Usage, runs: number, seconds: number, failed: number, tool: boolean }} Fact */

const GAP_X = 24, GAP_Y = 56, MOST = 200;

/**
 * What each agent, tool and node did in some runs: its model calls, its runs, the time without that of agents and nodes below it.
 * @param {import("./tree.js").Node[]} trees @returns {Map<string, Fact>}
 */
export function factsOf(trees) {
  /** @type {Map<string, Fact>} */
  const facts = new Map();
  /** @param {import("./tree.js").Node} node @param {string} above the agent or node that it is in */
  const walk = (node, above) => {
    const own = ["agent", "node", "tool"].includes(node.kind);
    const name = own ? node.name : above;
    if (name) {
      const fact = facts.get(name) ?? { usage: noUsage(), runs: 0, seconds: 0, failed: 0, tool: node.kind === "tool" };
      facts.set(name, fact);
      if (own && name !== above) fact.runs += 1; // an agent in a node of its name is one run
      if (own && name !== above) fact.seconds += node.ended - node.began;
      if (own && node.kind !== "tool" && above && above !== name) outer(facts, above).seconds -= node.ended - node.began;
      if (node.kind === "tool" && failedItself(node)) fact.failed += 1;
      if (node.kind === "model") add(fact.usage, node.usage);
    }
    for (const child of node.children) walk(child, name);
  };
  for (const tree of trees) walk(tree, "");
  for (const fact of facts.values()) fact.seconds = Math.max(0, fact.seconds);
  return facts;
}

/** @param {Map<string, Fact>} facts @param {string} name */
const outer = (facts, name) => /** @type {Fact} */ (facts.get(name));

/** @param {any} sum @param {any} usage */
function add(sum, usage) {
  for (const key of ["in", "cached", "written", "out", "reasoning", "calls"]) sum[key] += usage[key];
  if (usage.cost !== null) sum.cost = (sum.cost ?? 0) + usage.cost;
}

/**
 * A place for each box: a layer below all that lead to it, and within a layer near to them.
 * @param {any} picture @param {number} width @param {number} height
 */
export function layout(picture, width, height) {
  const boxes = picture.boxes.filter((/** @type {any} */ one) => !one.is_group).slice(0, MOST);
  const nodes = new Map(boxes.map((/** @type {any} */ one) => [one.id, { ...one, depth: 0, x: 0, y: 0, above: [], below: [] }]));
  const edges = linked(picture, nodes);
  for (const one of edges) if (!one.back) { one.end.above.push(one.from); one.from.below.push(one.end); }
  const layers = layered([...nodes.values()]);
  const widest = Math.max(...layers.map((one) => one.length), 1) * (width + GAP_X);
  layers.forEach((layer, depth) => {
    const start = (widest - layer.length * (width + GAP_X)) / 2 + GAP_X / 2;
    const near = (/** @type {any} */ one) => (one.above.length ? one.above.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.x, 0) / one.above.length : 0);
    layer.sort((one, other) => near(one) - near(other));
    layer.forEach((one, n) => { one.depth = depth; one.x = start + n * (width + GAP_X); one.y = 8 + depth * (height + GAP_Y); });
  });
  return { nodes: layers.flat(), edges, width: widest + 48, height: layers.length * (height + GAP_Y) - GAP_Y + 16 };
}

/** The links between boxes: one that ends at a group ends at its first box, or begins at its last. @param {any} picture @param {Map<string, any>} nodes */
function linked(picture, nodes) {
  const inside = (/** @type {string} */ id) => picture.boxes.filter((/** @type {any} */ one) => one.frame === id && one.kind !== "tool" && one.kind !== "toolset");
  const end = (/** @type {string} */ id, /** @type {number} */ at) => {
    let found = id;
    while (!nodes.has(found) && inside(found).length) found = inside(found).at(at).id;
    return nodes.get(found);
  };
  const found = picture.links.map((/** @type {any} */ one) => ({ from: end(one.source, -1), end: end(one.target, 0), label: one.label, back: one.relation === "again" }));
  return withoutCircles(found.filter((/** @type {any} */ one) => one.from && one.end));
}

/** Mark the links that lead back to where one came from. @param {any[]} edges */
function withoutCircles(edges) {
  const state = new Map();
  /** @param {any} node */
  const visit = (node) => {
    state.set(node, "open");
    for (const edge of edges) {
      if (edge.from !== node || edge.back) continue;
      if (state.get(edge.end) === "open") edge.back = true;
      else if (!state.has(edge.end)) visit(edge.end);
    }
    state.set(node, "done");
  };
  for (const edge of edges) if (!state.has(edge.from)) visit(edge.from);
  return edges;
}

/** @param {any[]} nodes */
function layered(nodes) {
  /** @type {Map<any, number>} */
  const depths = new Map();
  /** @param {any} node @returns {number} */
  const depth = (node) => depths.get(node) ?? depths.set(node, node.above.length ? 1 + Math.max(...node.above.map(depth)) : 0).get(node) ?? 0;
  /** @type {any[][]} */
  const layers = [];
  for (const node of nodes) (layers[depth(node)] ??= []).push(node);
  return layers.map((one) => one ?? []);
}
