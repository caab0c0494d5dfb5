/** The filters of a class: what each looks for, where it fires, and which fire under the mouse. */

import { byId, element, fillSelect } from "./dom.js";
import { CanvasView } from "./canvas_view.js";
import { cellAt } from "./features.js";
import { FilterCards } from "./filter_cards.js";
import { HeatMap } from "./heatmap.js";
import { loadPicture } from "./pictures.js";
import { loadResponses, mapOf, strongestAt } from "./responses.js";
import { ProgressBar } from "./progress.js";
import { showError } from "./messages.js";
import { startJob } from "./jobs.js";
import { store } from "./store.js";

// A patch shows so large a part of its image: about what a filter sees well.
const PATCH_SHARE = 0.3;
const PATCH_PIXELS = 144;
const LISTED = 6;

/** Returns the class that the names of most images speak of, or the first. */
function likelyClass(classes, images) {
  const counts = classes.map(
    (name) => images.filter((image) => image.name.toLowerCase().includes(name)).length,
  );
  return classes[Math.max(0, counts.indexOf(Math.max(...counts)))];
}

export class FilterGallery {
  image = null;
  filter = null;
  #job = null;
  #done = "";
  #best = new Map();
  #heat = new HeatMap();
  #responses = null;

  constructor(work) {
    this.work = work;
    this.select = byId("filter-class");
    this.gallery = byId("filter-gallery");
    this.bar = new ProgressBar(byId("filter-progress"), () => this.stop());
    this.cards = new FilterCards(byId("filter-cards"), (id) => this.pick(id));
    this.view = new CanvasView(byId("filter-stage"), "Image whose filters are listed", {
      move: (point) => this.#list(point),
      cursor: (point) => this.#list(point),
    });
    this.view.paint = (context, view) => {
      if (this.filter === null || !this.#responses) return;
      this.#heat.drawInto(context, view.frame);
    };
    this.select.addEventListener("change", () => {
      this.work.set("class", this.select.value);
      this.start();
    });
    store.addEventListener("images", () => (this.#done = ""));
  }

  get className() {
    return this.select.value;
  }

  enter() {
    const { classes } = store.state;
    const none = !classes.length;
    byId("filter-none").hidden = !none;
    byId("filter-body").hidden = none;
    if (none) return;
    if (!this.select.options.length) {
      const chosen = this.work.settings.class ?? likelyClass(classes, store.images);
      fillSelect(
        this.select,
        classes.map((name) => ({ value: name, text: name })),
        chosen,
      );
    }
    if (!store.image(this.image)) this.image = store.pair.a;
    if (this.#done !== this.className) this.start();
  }

  stop() {
    this.#job?.cancel();
    this.#job = null;
    this.bar.end();
  }

  async start() {
    this.stop();
    const className = this.className;
    this.filter = null;
    this.#best.clear();
    this.gallery.replaceChildren();
    this.cards.clear();
    this.bar.begin(`Looking for the parts of “${className}”…`);
    this.pick(this.image);
    const images = store.readable().map((image) => image.id);
    const job = startJob(
      { kind: "responses", class: className, images },
      {
        progress: (said) => this.bar.show(said),
        result: ({ image, strongest }) => this.#take(image, strongest ?? []),
      },
    );
    this.#job = job;
    try {
      await job.finished;
      if (job !== this.#job) return;
      this.#done = className;
      this.bar.end();
      this.#fillGallery();
    } catch (error) {
      if (job === this.#job) this.bar.end();
      showError(error);
    }
  }

  #take(image, strongest) {
    for (const [filter, x, y, strength] of strongest) {
      if ((this.#best.get(filter)?.strength ?? 0) < strength) {
        this.#best.set(filter, { image, x, y, strength });
      }
    }
  }

  /** Shows the patch of each filter, the strongest filters first. */
  #fillGallery() {
    const sorted = [...this.#best].sort(([, one], [, other]) => other.strength - one.strength);
    byId("filter-count").textContent = `${sorted.length} filters`;
    this.gallery.replaceChildren(
      ...sorted.map(([filter, best]) => {
        const patch = this.#patch(best);
        const button = element(
          "button.patch",
          {
            type: "button",
            "data-filter": filter,
            "aria-pressed": "false",
            "aria-label": `Filter ${filter}: show where it fires`,
            on: { click: () => this.choose(filter) },
          },
          [patch, element("span.patch-number", { text: String(filter) })],
        );
        return button;
      }),
    );
    if (sorted.length && this.filter === null) this.choose(sorted[0][0]);
  }

  #patch({ image: id, x, y }) {
    const canvas = element("canvas", { width: PATCH_PIXELS, height: PATCH_PIXELS });
    const image = store.image(id);
    if (image) {
      loadPicture(image, 512)
        .then((picture) => {
          const scale = picture.naturalWidth / image.width;
          const share = PATCH_SHARE * Math.max(image.width, image.height);
          const side = Math.min(share, image.width, image.height) * scale;
          // Moved inside where it would leave the picture.
          const within = (middle, room) => Math.min(Math.max(middle - side / 2, 0), room - side);
          const left = within((x + 0.5) * scale, picture.naturalWidth);
          const top = within((y + 0.5) * scale, picture.naturalHeight);
          const context = canvas.getContext("2d");
          context.drawImage(picture, left, top, side, side, 0, 0, PATCH_PIXELS, PATCH_PIXELS);
        })
        .catch(showError);
    }
    return canvas;
  }

  /** Shows where a filter fires in all images. */
  choose(filter) {
    this.filter = filter;
    for (const button of this.gallery.children) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.filter) === filter));
    }
    byId("filter-title").textContent = `Filter ${filter} of “${this.className}” in all images`;
    this.#fillHeat();
    this.view.drawUpper();
    this.cards.show(this.className, filter, this.#best.get(filter)?.strength ?? 1);
  }

  #fillHeat() {
    if (this.filter === null || !this.#responses) return;
    const highest = this.#best.get(this.filter)?.strength ?? 1;
    this.#heat.fill(mapOf(this.#responses, this.filter), this.#responses.columns, 0, highest, {
      least: 0,
      most: 0.9,
    });
  }

  /** Shows an image large, with the list of filters under the mouse. */
  async pick(id) {
    const image = store.image(id);
    if (!image) return;
    this.image = id;
    this.#responses = null;
    byId("filter-list").replaceChildren();
    byId("filter-image").textContent = image.name;
    store.tell("badges");
    try {
      const picture = await loadPicture(image);
      if (this.image !== id) return;
      this.view.show(image, picture);
      const responses = await loadResponses(id, this.className);
      if (this.image !== id) return;
      this.#responses = responses;
      this.#fillHeat();
      this.view.drawUpper();
    } catch (error) {
      showError(error);
    }
  }

  #list(point) {
    if (!this.#responses) return;
    const cell = cellAt(this.#responses, this.view.image, point.x, point.y);
    const found = strongestAt(this.#responses, cell, LISTED);
    const highest = found[0]?.strength ?? 1;
    byId("filter-list").replaceChildren(
      ...found.map(({ filter, strength }) => {
        const bar = element("meter", { min: 0, max: highest, value: strength });
        bar.setAttribute("aria-label", `Strength ${strength.toFixed(1)}`);
        return element("li", {}, [
          element("button.link", {
            type: "button",
            text: `Filter ${filter}`,
            on: { click: () => this.choose(filter) },
          }),
          bar,
          element("span.number", { text: strength.toFixed(1) }),
        ]);
      }),
    );
  }
}
