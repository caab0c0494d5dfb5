/** Puts the page together: the studio's Hover and its strip, with the network in the browser. */

import { acceptFiles } from "./drop.js";
import { byId } from "./dom.js";
import { clear, summary } from "./statistics.js";
import { engine } from "./api.js";
import { HoverMode } from "./hover_mode.js";
import { showError } from "./messages.js";
import { store } from "./store.js";
import { Strip } from "./strip.js";

let hover = null;

/** New images are looked at: one where it was dropped or in B, two as a pair. */
function showNew(strip, images, side) {
  strip.reveal(images.at(-1).id);
  if (images.length === 1) {
    store.choose(side ?? (store.pair.a ? store.side : "a"), images[0].id);
  } else {
    store.pair = { a: images[0].id, b: images[1].id };
    store.tell("pair");
  }
}

/** What the network costs here, once it is known. */
function tellTimes() {
  const { load, describe } = engine.times;
  const seconds = (value) => `${value.toFixed(1)} s`;
  const last = describe.length ? ` · the last image took ${seconds(describe.at(-1))}` : "";
  byId("engine").textContent = `network ready in ${seconds(load)}${last}`;
}

async function start() {
  await store.load();
  byId("folder").textContent = store.state.model;
  const { version } = store.state;
  byId("version").textContent = `images stay on this machine · version ${version}`;
  hover = new HoverMode();
  const strip = new Strip(
    (id) => hover.pick(id),
    () => hover.badges(),
  );
  strip.fill();
  hover.pair.load().catch(showError);
  engine.onProgress = (text) => {
    byId("engine").textContent = text;
  };
  await engine.load();
  tellTimes();
  engine.onDescribed = tellTimes;
  acceptFiles(
    (images, side) => showNew(strip, images, side),
    (id, side) => (side ? store.choose(side, id) : hover.pick(id)),
  );
  for (const button of document.querySelectorAll("[disabled]")) button.disabled = false;
  document.body.classList.add("ready");
  await hover.enter();
}

const ready = start();
ready.catch((error) => {
  byId("engine").textContent = "";
  showError(error);
});

/** For tests and measurements: what the page shows, not a way to change it. */
window.studio = Object.freeze({
  ready,
  get hover() {
    return hover?.last ?? null;
  },
  get times() {
    return engine.times;
  },
  statistics: summary,
  clearStatistics: clear,
});
