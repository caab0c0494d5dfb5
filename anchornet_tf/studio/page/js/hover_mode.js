/** Hover: the place under the mouse is shown in the other image, with the likeness of all. */

import { announce, showError } from "./messages.js";
import { byId } from "./dom.js";
import { cellAt, likeness, loadFeatures } from "./features.js";
import { drawPoint } from "./mark_drawing.js";
import { HeatMap } from "./heatmap.js";
import { loadFlow } from "./flow.js";
import { OTHER, PairView } from "./pair_view.js";
import { note } from "./statistics.js";
import { store } from "./store.js";

const SURE_FROM = 0.5;

export class HoverMode {
  /** What was shown last, for `window.studio`. */
  last = null;
  #data = null;
  #loading = 0;
  #heat = new HeatMap();
  #likeness = new Float32Array(0);
  #cell = "";
  #found = null;

  constructor() {
    this.pair = new PairView(byId("hover-pair"), {
      move: (side, point, event) => this.#move(side, point, event),
      // A finger that is lifted leaves the answer to be looked at.
      leave: (side, point, event) => event.pointerType !== "touch" && this.#leave(),
      cursor: (side, point, event) => this.#move(side, { ...point, inside: true }, event),
    });
    this.withMap = byId("hover-map");
    this.withMap.addEventListener("change", () => this.#redraw());
    byId("hover-swap").addEventListener("click", () => store.swap());
    for (const what of ["pair", "method"]) {
      store.addEventListener(what, () => this.active && this.#load());
    }
  }

  enter() {
    this.active = true;
    return this.#load();
  }

  leave() {
    this.active = false;
  }

  /** An image of the strip was picked. */
  pick(id) {
    const side = store.side;
    // The image of the other side is meant to change places.
    if (store.pair[OTHER[side]] === id) store.swap();
    else store.choose(side, id);
  }

  badges() {
    return new Map([
      [store.pair.a, "A"],
      [store.pair.b, "B"],
    ]);
  }

  async #load() {
    const number = ++this.#loading;
    this.#data = null;
    this.#forget();
    this.#say("");
    const images = await this.pair.load();
    if (!images || number !== this.#loading) return;
    this.pair.setBusy("Looking at both images…");
    const { descriptor, matcher } = store;
    try {
      const [a, b, forward, backward] = await Promise.all([
        loadFeatures(images.a.id, descriptor),
        loadFeatures(images.b.id, descriptor),
        loadFlow(images.a, images.b, descriptor, matcher),
        loadFlow(images.b, images.a, descriptor, matcher),
      ]);
      if (number !== this.#loading) return;
      this.#data = { images, grids: { a, b }, flows: { a: forward, b: backward } };
      this.pair.setBusy("");
      this.#say("Move over one image: the same place is shown in the other. Arrow keys work too.");
    } catch (error) {
      if (number !== this.#loading) return;
      this.pair.setBusy("");
      this.#say("These two could not be compared.");
      showError(error);
    }
  }

  #say(text) {
    byId("hover-line").textContent = text;
  }

  #forget() {
    this.#cell = "";
    this.#found = null;
    this.last = null;
    for (const side of ["a", "b"]) this.pair.views[side].paint = () => {};
    byId("hover-scale").hidden = true;
  }

  #leave() {
    this.#forget();
    this.#redraw();
  }

  #redraw() {
    for (const side of ["a", "b"]) this.pair.views[side].drawUpper();
  }

  #move(side, point, event) {
    if (!this.#data) return;
    if (!point.inside) {
      if (this.last) this.#leave();
      return;
    }
    const other = OTHER[side];
    const { grids, flows, images } = this.#data;
    const cell = cellAt(grids[side], images[side], point.x, point.y);
    // Within a cell the map stays the same; only the marker moves.
    if (this.#cell !== `${side}${cell}`) {
      this.#cell = `${side}${cell}`;
      this.#compare(side, cell);
    }
    const match = flows[side].at(point.x, point.y);
    this.#paint(side, point, match);
    const { best, highest } = this.#found;
    const milliseconds = performance.now() - event.timeStamp;
    note(milliseconds);
    const columns = grids[other].columns;
    this.last = {
      side,
      x: point.x,
      y: point.y,
      match,
      best: { row: Math.floor(best / columns), column: best % columns, likeness: highest },
      milliseconds,
    };
    this.#tell(event.type === "keydown");
  }

  #compare(side, cell) {
    const { grids } = this.#data;
    const target = grids[OTHER[side]];
    const cells = target.rows * target.columns;
    if (this.#likeness.length !== cells) this.#likeness = new Float32Array(cells);
    this.#found = likeness(grids[side], cell, target, this.#likeness);
    const { lowest, highest } = this.#found;
    // The upper half of the range tells where it is; the lower half is what all places share.
    const low = lowest + (highest - lowest) * 0.3;
    this.#heat.fill(this.#likeness, target.columns, low, highest, {
      least: 0.04,
      most: 0.85,
      power: 1.4,
    });
  }

  #paint(side, point, match) {
    const here = this.pair.views[side];
    const there = this.pair.views[OTHER[side]];
    here.paint = (context) => {
      if (!here.cursor) drawPoint(context, here.toView(point.x, point.y), "marked");
    };
    there.paint = (context) => {
      if (this.withMap.checked) this.#heat.drawInto(context, there.frame);
      if (!match) return;
      const kind = match.confidence >= SURE_FROM ? "sure" : "unsure";
      drawPoint(context, there.toView(match.x, match.y), kind, { radius: 8 });
    };
    there.cursor = null;
    here.drawUpper();
    there.drawUpper();
  }

  #tell(aloud) {
    const { side, x, y, match, best } = this.last;
    const from = `${side.toUpperCase()} ${x.toFixed(0)}, ${y.toFixed(0)}`;
    const to = match
      ? `${OTHER[side].toUpperCase()} ${match.x.toFixed(0)}, ${match.y.toFixed(0)}`
      : "no match";
    const { hasProbabilities } = this.#data.flows[side];
    const sure = !match
      ? ""
      : hasProbabilities
        ? ` · right with probability ${(100 * match.confidence).toFixed(0)} %`
        : ` · confidence ${match.confidence.toFixed(2)}`;
    const text = `${from} → ${to}${sure}`;
    this.#say(text);
    byId("hover-scale").hidden = !this.withMap.checked;
    byId("hover-highest").textContent = best.likeness.toFixed(2);
    if (aloud) announce(text);
  }
}
