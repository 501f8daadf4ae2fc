// The theme is set before the first paint.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("newel.theme"); } catch { /* storage is off */ }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = kept === "dark" || kept === "light" ? kept : system;
  setTimeout(() => document.documentElement.classList.add("ready"), 200);
})();
