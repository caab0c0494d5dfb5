/** Look: lines of sure matches, a blend of A with B pulled onto it, and the filters of a class. */

import { byId } from "./dom.js";
import { CanvasView } from "./canvas_view.js";
import { FilterGallery } from "./filters.js";
import { HeatMap } from "./heatmap.js";
import { loadFlow } from "./flow.js";
import { loadPicture } from "./pictures.js";
import { OTHER, PairView } from "./pair_view.js";
import { placeColour } from "./colours.js";
import { showError } from "./messages.js";
import { spreadMatches } from "./lines.js";
import { store } from "./store.js";
import { warp } from "./warp.js";

export class LookMode {
  #flow = null;
  #warped = null;
  #loading = 0;
  #heat = new HeatMap();

  constructor(work) {
    this.pair = new PairView(byId("look-pair"), { resize: () => this.#drawLines() });
    this.blend = new CanvasView(byId("look-blend-stage"), "B pulled onto A");
    this.blend.paintPicture = (context, view) => this.#paintBlend(context, view);
    this.blend.paint = (context, view) => this.#paintConfidence(context, view);
    this.pair.views.a.paint = (context, view) => this.#paintConfidence(context, view);
    this.filters = new FilterGallery(work);
    for (const id of ["look-count", "look-least"]) {
      byId(id).addEventListener("input", () => this.#drawLines());
    }
    byId("look-slider").addEventListener("input", () => this.blend.draw());
    byId("look-confidence").addEventListener("change", () => this.#redraw());
    byId("look-swap").addEventListener("click", () => store.swap());
    for (const radio of document.getElementsByName("look-view")) {
      radio.addEventListener("change", () => this.#choose(radio.value));
    }
    for (const what of ["pair", "method"]) {
      store.addEventListener(what, () => this.active && this.#load());
    }
    this.#choose("matches");
  }

  enter() {
    this.active = true;
    return this.#load();
  }

  leave() {
    this.active = false;
    this.filters.stop();
  }

  pick(id) {
    if (this.view === "filters") return this.filters.pick(id);
    if (store.pair[OTHER[store.side]] === id) return store.swap();
    return store.choose(store.side, id);
  }

  badges() {
    if (this.view === "filters") return new Map([[this.filters.image, "•"]]);
    return new Map([
      [store.pair.a, "A"],
      [store.pair.b, "B"],
    ]);
  }

  #choose(view) {
    this.view = view;
    for (const name of ["matches", "blend", "filters"]) byId(`look-${name}`).hidden = name !== view;
    byId("look-confidence-label").hidden = view === "filters";
    byId("look-swap").hidden = view === "filters";
    if (view === "filters") this.filters.enter();
    else if (this.active) this.#redraw();
    this.#say("");
    if (view === "blend")
      this.#say("B is pulled onto A, place by place. Slide from one to the other.");
    else this.#drawLines();
    store.tell("badges");
  }

  async #load() {
    const number = ++this.#loading;
    this.#flow = null;
    this.#warped = null;
    this.#redraw();
    const images = await this.pair.load();
    if (!images || number !== this.#loading) return;
    const wait = "Matching…";
    this.pair.setBusy(wait);
    this.#say(wait);
    try {
      const flow = await loadFlow(images.a, images.b, store.descriptor, store.matcher);
      const [a, b] = await Promise.all([loadPicture(images.a), loadPicture(images.b)]);
      if (number !== this.#loading) return;
      this.#flow = flow;
      this.#warped = warp(flow, b);
      this.blend.show(images.a, a);
    } catch (error) {
      showError(error);
      this.#say("These two could not be matched.");
    }
    if (number === this.#loading) {
      this.pair.setBusy("");
      this.#redraw();
    }
  }

  #say(text) {
    byId("look-line").textContent = text;
  }

  #redraw() {
    this.#drawLines();
    this.pair.views.a.drawUpper();
    this.blend.draw();
  }

  #drawLines() {
    if (!this.active || this.view !== "matches") return;
    const { context, place } = this.pair.overlayContext();
    byId("look-least-value").textContent = Number(byId("look-least").value).toFixed(2);
    byId("look-count-value").textContent = byId("look-count").value;
    if (!this.#flow || !this.pair.views.a.picture || !this.pair.views.b.picture) return;
    const count = Number(byId("look-count").value);
    const matches = spreadMatches(this.#flow, count, Number(byId("look-least").value));
    const { width } = this.#flow.source;
    context.lineCap = "round";
    // All white borders lie below all lines, so that crossings stay readable.
    const strokes = matches.map(({ from, to }) => [
      place("a", from.x, from.y),
      place("b", to.x, to.y),
      placeColour(from.x / width),
    ]);
    for (const border of [true, false]) {
      for (const [start, end, colour] of strokes) {
        context.strokeStyle = border ? "rgb(255 255 255 / 55%)" : colour;
        context.lineWidth = border ? 3.5 : 1.75;
        context.beginPath();
        context.moveTo(start.x, start.y);
        context.lineTo(end.x, end.y);
        context.stroke();
        for (const end_ of [start, end]) {
          context.fillStyle = border ? "#fff" : colour;
          context.beginPath();
          context.arc(end_.x, end_.y, border ? 5.5 : 4, 0, 2 * Math.PI);
          context.fill();
        }
      }
    }
    this.#say(
      matches.length
        ? `${matches.length} matches, spread over the places that are sure enough`
        : "No match is as sure as that. Lower the least confidence.",
    );
  }

  #paintBlend(context, view) {
    const share = Number(byId("look-slider").value) / 100;
    byId("look-slider").setAttribute("aria-valuetext", `${Math.round(share * 100)} % of B`);
    context.drawImage(view.picture, ...view.frame);
    if (!this.#warped) return;
    context.globalAlpha = share;
    context.drawImage(this.#warped, ...view.frame);
    context.globalAlpha = 1;
  }

  #paintConfidence(context, view) {
    const scale = byId("look-scale");
    const shown = byId("look-confidence").checked && this.#flow && this.view !== "filters";
    scale.hidden = !shown;
    if (!shown) return;
    const flow = this.#flow;
    const values = new Float32Array(flow.rows * flow.columns);
    let highest = 1;
    for (let cell = 0; cell < values.length; cell++) {
      values[cell] = flow.match(cell)?.confidence ?? NaN;
      if (values[cell] > highest) highest = values[cell];
    }
    // Probabilities are read on the scale from 0 to 1; scores of a matcher may go higher.
    this.#heat.fill(values, flow.columns, 0, highest, { least: 0.65, most: 0.65 });
    byId("look-highest").textContent = highest.toFixed(highest === 1 ? 0 : 2);
    this.#heat.drawInto(context, view.frame);
  }
}
