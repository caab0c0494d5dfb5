/** Puts the page together. */

import { acceptFiles } from "./drop.js";
import { AnnotateMode } from "./annotate_mode.js";
import { byId } from "./dom.js";
import { clear, summary } from "./statistics.js";
import { closeMenus, methodMenu } from "./methods.js";
import { connectTabs } from "./tabs.js";
import { HoverMode } from "./hover_mode.js";
import { LookMode } from "./look_mode.js";
import { ManyMode } from "./many_mode.js";
import { Marks } from "./marks.js";
import { showError } from "./messages.js";
import { store } from "./store.js";
import { Strip } from "./strip.js";
import { Work } from "./work.js";

let modes = {};
let active = null;

/** New images are looked at: one in B or where it was dropped, two as a pair. */
function showNew(strip, images, side) {
  strip.reveal(images.at(-1).id);
  const readable = images.filter((image) => !image.error);
  if (!readable.length) return;
  if (active === modes.annotate || active === modes.many) {
    active.pick(readable[0].id);
  } else if (readable.length === 1) {
    store.choose(side ?? (store.pair.a ? store.side : "a"), readable[0].id);
  } else {
    store.pair = { a: readable[0].id, b: readable[1].id };
    store.tell("pair");
  }
}

function remembered(settings) {
  for (const side of ["a", "b"]) {
    const image = store.image(settings[side]);
    if (image && !image.error) store.pair[side] = image.id;
  }
}

async function start() {
  await store.load();
  const marks = new Marks();
  const work = new Work(marks);
  // Without its work the page is still of use.
  await work.load().catch(showError);
  remembered(work.settings);
  methodMenu(work);
  closeMenus();
  document.title = store.state.folder
    ? `${store.state.folder} · AnchorNet studio`
    : "AnchorNet studio";
  byId("folder").textContent = store.state.folder ?? "examples";
  byId("version").textContent = `version ${store.state.version}`;
  modes = {
    hover: new HoverMode(),
    look: new LookMode(work),
    annotate: new AnnotateMode(marks, work),
    many: new ManyMode(),
  };
  const strip = new Strip(
    (id) => active.pick(id),
    () => active?.badges() ?? new Map(),
  );
  acceptFiles(
    (images, side) => showNew(strip, images, side),
    (id, side) => (side ? store.choose(side, id) : active.pick(id)),
  );
  store.addEventListener("pair", () => {
    work.set("a", store.pair.a);
    work.set("b", store.pair.b);
  });
  const choose = connectTabs((name) => {
    active?.leave();
    active = modes[name];
    // The mode is in the address, so that a reload and the back button keep it.
    if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
    active.enter();
    store.tell("badges");
  });
  strip.fill();
  choose(location.hash.slice(1) || "hover");
  addEventListener("hashchange", () => choose(location.hash.slice(1)));
  document.body.classList.add("ready");
}

const ready = start();
ready.catch(showError);

/** For tests and benchmarks: what the page shows, not a way to change it. */
window.studio = Object.freeze({
  ready,
  get hover() {
    return modes.hover?.last ?? null;
  },
  statistics: summary,
  clearStatistics: clear,
});
