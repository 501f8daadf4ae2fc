/** What stands where the steps of a call are not known. */
import { html } from "../../vendor/preact.js";
import { Empty } from "../ui.js";

export const Unknown = () => html`<${Empty} title="The steps of this call were not recorded">They are recorded while <code>newel web</code> runs the agent: this call was made by another process, or before the server started. <code>newel explain</code> shows the steps of the next call.<//>`;
