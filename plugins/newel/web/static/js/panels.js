/** The panels next to a conversation, in the order of their tabs; each loads when it is opened. */
import { Component, html, signal } from "../vendor/preact.js";
import { get } from "./api.js";
import { Failure } from "./ui.js";

/** @typedef {{ name: string, title: string, line: string, load: () => Promise<any> }} Panel */

/** @type {Panel[]} */
export const PANELS = [
  { name: "run", title: "Run", line: "what was called, in what order, and what it cost.", load: () => import("./panels/run.js") },
  { name: "chain", title: "Chain", line: "each step may change the request before the model sees it.", load: () => import("./panels/chain.js") },
  { name: "events", title: "Events", line: "the session as it is stored: nothing else exists of it.", load: () => { import("./reproduce.js").catch(() => {}); return import("./panels/events.js"); } },
  { name: "state", title: "State", line: "what agents and tools have noted, as of any event.", load: () => import("./panels/state.js") },
  { name: "artifacts", title: "Artifacts", line: "files of this session and of its user, in versions.", load: () => import("./panels/artifacts.js") },
  { name: "graph", title: "Graph", line: "the agents and tools, and the way that a run took through them.", load: () => import("./panels/graph.js") },
  { name: "replay", title: "Replay", line: "what would the model have said? Change what it was asked, and ask again.", load: () => import("./panels/replay.js") },
];
/** Those of plugins, after ours. */
export const extra = signal(/** @type {any[]} */ ([]));
get("list_web_panels", {}).then((found) => { extra.value = found; }, () => {});

/** @type {Panel[]} */
export const HIDDEN = [{ name: "keys", title: "Keys", line: "", load: () => import("./panels/keys.js") }];
/** @type {Record<string, () => Promise<any>>} */
export const VIEWS = {
  sessions: () => import("./panels/sessions.js"),
  questions: () => import("./panels/questions.js"),
  composition: () => import("./panels/composition.js"),
  evaluation: () => import("./panels/evaluation.js"),
  keys: () => import("./panels/keys.js"),
};

/** Begin to load what an address shows, before the session is there. @param {import("./route.js").Route} at */
export function early(at) {
  const load = at.view === "session" ? at.session && [...PANELS, ...HIDDEN].find((one) => one.name === (at.panel || "run"))?.load : VIEWS[at.view];
  if (load) load().catch(() => {}); // `Opened` asks again, and says what is wrong
}

/** Modules that were opened. */
const loaded = signal(/** @type {Record<string, any>} */ ({}));

/** A module's `default`, once it is there. @param {{ name: string, load: () => Promise<any> }} props */
export function Opened({ name, load, ...rest }) {
  const found = loaded.value[name];
  if (found instanceof Error) return html`<${Failure} error=${{ title: "This panel did not load.", message: found.message }} />`;
  if (found) return html`<${Guard} key=${name} name=${name}><${found} ...${rest} /><//>`;
  load().then((one) => { loaded.value = { ...loaded.value, [name]: one.default }; }, (error) => { loaded.value = { ...loaded.value, [name]: error }; });
  return null;
}

/** A panel that fails says so, and the rest of the page goes on. */
class Guard extends Component {
  /** @param {any} props */
  constructor(props) {
    super(props);
    this.state = { error: /** @type {any} */ (null) };
  }

  /** @param {any} error */
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  render() {
    const { error } = /** @type {any} */ (this.state);
    const again = () => this.setState({ error: null });
    return error ? html`<${Failure} error=${{ title: `The panel ${/** @type {any} */ (this.props).name} failed.`, message: String(error.message ?? error) }} retry=${again} />` : /** @type {any} */ (this.props).children;
  }
}
