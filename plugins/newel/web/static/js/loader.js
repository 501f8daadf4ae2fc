/** Starts a page that holds its session and its modules: `newel web --export` puts this script into it. */
(async () => {
  /** @param {string} id */
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id)?.textContent ?? ""), (one) => one.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  };
  const nonce = document.currentScript?.nonce ?? "";
  Object.assign(globalThis, { newelSession: await unpacked("session") });
  /** @type {Record<string, string>} */
  const imports = {};
  for (const [name, source] of Object.entries(await unpacked("modules"))) imports[name] = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const map = document.createElement("script");
  map.type = "importmap";
  map.nonce = nonce;
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  await import("newel/" + "js/main.js");
})();
