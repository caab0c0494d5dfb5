/** A card for each image, with what was found in it. Cards are drawn when they come into view. */

import { element } from "./dom.js";
import { drawPoint, drawRegion } from "./mark_drawing.js";
import { loadPicture } from "./pictures.js";
import { store } from "./store.js";

const SIDE = 320;

export class Cards {
  #cards = new Map();
  #seen = new Set();

  /**
   * @param {HTMLElement} host
   * @param {(id: string) => void} open
   * @param {(id: string) => Object} contents `{points, regions, status, score, note, stale}`.
   */
  constructor(host, open, contents) {
    this.host = host;
    this.open = open;
    this.contents = contents;
    this.watcher = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          const id = target.dataset.image;
          if (!isIntersecting) this.#seen.delete(id);
          else {
            this.#seen.add(id);
            this.#draw(id);
          }
        }
      },
      { rootMargin: "150px" },
    );
  }

  /** Makes the cards of all images, in the order of the ids. */
  fill(ids) {
    this.watcher.disconnect();
    this.#seen.clear();
    const kept = this.#cards;
    this.#cards = new Map();
    for (const id of ids) this.#cards.set(id, kept.get(id) ?? this.#make(store.image(id)));
    this.host.replaceChildren(...this.#cards.values());
    for (const card of this.#cards.values()) this.watcher.observe(card);
    for (const id of ids) this.update(id);
  }

  #make(image) {
    return element(
      "button.card",
      {
        type: "button",
        title: image.name,
        "data-image": image.id,
        on: { click: () => this.open(image.id) },
      },
      [
        element("canvas.card-picture"),
        element("span.card-foot", {}, [
          element("span.card-name", { text: image.name }),
          element("span.card-score"),
        ]),
      ],
    );
  }

  /** Shows what is known about an image now. */
  update(id) {
    const card = this.#cards.get(id);
    if (!card) return;
    const { status, text, open, stale, name } = this.contents(id);
    card.dataset.status = status;
    card.classList.toggle("open", open);
    card.classList.toggle("stale", stale);
    const score = card.querySelector(".card-score");
    score.replaceChildren(
      ...(status ? [element(`span.shape.shape-${status}`, { "aria-hidden": "true" })] : []),
      text,
    );
    card.setAttribute("aria-label", `${name}: ${text || "nothing found yet"}`);
    if (this.#seen.has(id)) this.#draw(id);
  }

  updateAll() {
    for (const id of this.#cards.keys()) this.update(id);
  }

  async #draw(id) {
    const card = this.#cards.get(id);
    const image = store.image(id);
    let picture;
    try {
      picture = await loadPicture(image, SIDE);
    } catch {
      card.classList.add("broken");
      return;
    }
    const { points, regions } = this.contents(id);
    const canvas = card.firstElementChild;
    // Twice the pixels of the picture, so that points are crisp on fine screens.
    const scale = Math.min(2, (2 * SIDE) / Math.max(picture.naturalWidth, picture.naturalHeight));
    canvas.width = Math.round(picture.naturalWidth * scale);
    canvas.height = Math.round(picture.naturalHeight * scale);
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const toView = (x, y) => ({
      x: ((x + 0.5) * canvas.width) / image.width,
      y: ((y + 0.5) * canvas.height) / image.height,
    });
    for (const { polygons, kind } of regions) drawRegion(context, polygons, toView, kind);
    // Cards are shown smaller than they are drawn.
    const radius = Math.max(canvas.width, canvas.height) / 38;
    for (const { x, y, kind } of points) drawPoint(context, toView(x, y), kind, { radius });
  }
}
