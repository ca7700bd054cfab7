
"use strict";
const byId = (id) => document.getElementById(id);
const releases = [...document.querySelectorAll("details.release")];
const filter = byId("filter"), what = byId("what"), shown = byId("shown");
byId("controls").hidden = false;
for (const word of new Set(releases.map((one) => one.dataset.what))) {
  what.add(new Option(word, word));
}
const show = () => {
  const text = filter.value.trim().toLowerCase();
  let count = 0;
  for (const one of releases) {
    const fits = (!what.value || one.dataset.what === what.value) && one.textContent.toLowerCase().includes(text);
    one.hidden = !fits;
    count += fits ? 1 : 0;
  }
  shown.textContent = `${count} of ${releases.length} shown`;
};
const open = (yes) => document.querySelectorAll("main details").forEach((one) => { one.open = yes; });
filter.addEventListener("input", show);
what.addEventListener("change", show);
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("expand").addEventListener("click", () => open(true));
byId("collapse").addEventListener("click", () => open(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target !== filter && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === "Escape") {
    filter.value = "";
    what.value = "";
    show();
  }
});
show();
