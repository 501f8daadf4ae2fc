/** A page that holds its session: the answers of the API, without a server. Made by `newel web --export`. */

/** What the page holds; null: there is a server. @type {any} */
export const held = /** @type {any} */ (globalThis).newelSession ?? null;

/** @typedef {Record<string, any>} Values */
/** @type {Record<string, (values: Values, query: Values) => any>} */
const ANSWERS = {
  list_apps: () => ({ apps: [{ name: held.session.appName, description: "" }], failed: [], stored: { place: "", artifacts: true, held: true, note: held.note } }),
  list_session_owners: () => [{ appName: held.session.appName, userId: held.session.userId, sessions: 1, lastUpdateTime: held.session.lastUpdateTime }],
  list_session_summaries: () => ({ total: 1, sessions: [held.summary] }),
  list_user_questions: () => held.questions,
  list_web_panels: () => [],
  list_runs: () => [],
  list_model_calls: () => [],
  list_events: (values) => (values.session_id === held.session.id ? { total: held.session.events.length, after: 0, state: held.session.state, events: held.session.events } : undefined),
  get_session: (values) => (values.session_id === held.session.id ? held.session : undefined),
  trace_of_session: () => held.spans,
  list_artifacts: () => Object.keys(held.artifacts),
  list_artifact_metadata: (values) => held.artifacts[values.artifact_name]?.versions,
  load_artifact_version: (values) => held.artifacts[values.artifact_name]?.parts[values.version_id],
};

/** The answer to a request; undefined: the page does not hold it. @param {string} name @param {Values} values @param {Values} [query] */
export const answerOf = (name, values, query = {}) => (Object.hasOwn(ANSWERS, name) ? ANSWERS[name](values, query) : undefined);

/** The address that the page opens with. */
export const first = () => `#/${encodeURIComponent(held.session.appName)}/${encodeURIComponent(held.session.id)}`;
