/** Small pictures of all images with the places where one filter fires. */

import { element } from "./dom.js";
import { HeatMap } from "./heatmap.js";
import { loadPicture } from "./pictures.js";
import { loadResponses, mapOf } from "./responses.js";
import { showError } from "./messages.js";
import { store } from "./store.js";

const SIDE = 256;

export class FilterCards {
  #wanted = null;

  /** @param {HTMLElement} host @param {(id: string) => void} pick */
  constructor(host, pick) {
    this.host = host;
    this.pick = pick;
    // Only what is seen is drawn: a few hundred images would be a few hundred requests.
    this.watcher = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) if (isIntersecting) this.#draw(target);
      },
      { rootMargin: "200px" },
    );
  }

  clear() {
    this.watcher.disconnect();
    this.host.replaceChildren();
  }

  /** @param {number} highest The strongest response of the filter in any image. */
  show(className, filter, highest) {
    this.#wanted = { className, filter, highest };
    this.clear();
    for (const image of store.readable()) {
      const card = element(
        "button.card.plain-card",
        {
          type: "button",
          title: image.name,
          "data-image": image.id,
          on: { click: () => this.pick(image.id) },
        },
        [element("canvas.card-picture"), element("span.card-name", { text: image.name })],
      );
      this.host.append(card);
      this.watcher.observe(card);
    }
  }

  async #draw(card) {
    const wanted = this.#wanted;
    this.watcher.unobserve(card);
    const image = store.image(card.dataset.image);
    try {
      const [picture, responses] = await Promise.all([
        loadPicture(image, SIDE),
        loadResponses(image.id, wanted.className),
      ]);
      if (wanted !== this.#wanted) return;
      const canvas = card.firstElementChild;
      canvas.width = picture.naturalWidth;
      canvas.height = picture.naturalHeight;
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0);
      const heat = new HeatMap();
      heat.fill(mapOf(responses, wanted.filter), responses.columns, 0, wanted.highest, {
        least: 0,
        most: 0.9,
      });
      heat.drawInto(context, [0, 0, canvas.width, canvas.height]);
    } catch (error) {
      showError(error);
    }
  }
}
