"""How the page of a report looks, and how its images are filtered by name and score."""

STYLE = """
:root { color-scheme: light; --ink: #1b1f24; --soft: #57606a; --line: #d7dde3; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 2.5rem) 3rem; max-width: 110rem;
  background: #f6f8fa; color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .2rem; }
p { margin: 0 0 .8rem; color: var(--soft); }
.top { display: flex; flex-wrap: wrap; gap: 1rem; align-items: stretch; }
.box { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; }
.numbers { display: grid; grid-template-columns: repeat(2, auto); gap: .3rem 1.6rem; margin: 0;
  align-content: center; }
.numbers div { min-width: 6.5rem; }
.numbers dt { color: var(--soft); font-size: .82rem; }
.numbers dd { margin: 0; font-size: 1.35rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.numbers small { font-size: .85rem; font-weight: 400; color: var(--soft); }
.histogram { flex: 1 1 18rem; max-width: 34rem; }
.histogram svg { display: block; width: 100%; height: auto; }
.legend { flex: 1 1 16rem; font-size: .87rem; }
.caption { color: var(--soft); font-size: .82rem; margin: 0 0 .3rem; }
.keys { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; padding: 0;
  margin: .35rem 0 0; max-height: 12rem; overflow: auto; }
.keys li { display: flex; gap: .4rem; align-items: center; overflow-wrap: anywhere; }
.keys b { min-width: 1.5em; text-align: center; background: var(--ink); color: #fff;
  padding: 0 .3em; border-radius: 4px; font-size: .8rem; }
.keys svg { flex: none; }
.scale { display: block; width: 100%; max-width: 20rem; height: 2.1rem; }
.filter { display: flex; flex-wrap: wrap; gap: .6rem 1.5rem; align-items: center; margin-top: 1rem;
  position: sticky; top: 0; z-index: 1; font-size: .9rem; }
.filter label { display: flex; gap: .5rem; align-items: center; }
.filter input[type=search] { font: inherit; padding: .25rem .5rem; border: 1px solid #afb8c1;
  border-radius: 6px; width: min(16rem, 60vw); }
.filter output { font-variant-numeric: tabular-nums; color: var(--soft); }
.cards { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }
@media (max-width: 34rem) {
  .cards { grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); }
  .cards img { height: 10rem; } .filter { position: static; } }
figure { margin: 0; background: #fff; border: 1px solid var(--line); border-radius: 10px;
  overflow: hidden; }
figure img { display: block; width: 100%; height: 14rem; object-fit: contain; background: #eaeef2; }
figcaption { padding: .45rem .7rem .6rem; font-size: .85rem; }
.line { display: flex; gap: .6rem; justify-content: space-between; }
.name { overflow-wrap: anywhere; }
.score { font-weight: 650; font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { color: var(--soft); overflow-wrap: anywhere; margin-top: .15rem; }
.bar { display: block; width: 100%; height: 5px; }
details { margin-top: 2rem; }
summary { cursor: pointer; font-size: 1.1rem; font-weight: 650; }
table { border-collapse: collapse; font-size: .87rem; margin-top: .5rem; background: #fff; }
th, td { text-align: left; padding: .15rem .8rem; border: 1px solid var(--line);
  overflow-wrap: anywhere; }
td + td { font-variant-numeric: tabular-nums; }
[hidden] { display: none !important; }
"""

# Without it, all images are shown and the filter is hidden.
SCRIPT = """
const name = document.getElementById("name"), most = document.getElementById("most");
const items = [...document.querySelectorAll("[data-score]")];
function filter() {
  const text = name.value.toLowerCase();
  let count = 0;
  for (const item of items) {
    const shown = item.dataset.score <= +most.value && item.dataset.name.includes(text);
    item.hidden = !shown;
    count += shown;
  }
  document.getElementById("limit").value = (+most.value).toFixed(2);
  document.getElementById("count").value = count + " of " + items.length + " images";
}
name.addEventListener("input", filter);
most.addEventListener("input", filter);
document.getElementById("filter").hidden = false;
filter();
"""
