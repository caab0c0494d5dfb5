/** Two images side by side, each with its name; Hover and Look both show one. */

import { CanvasView } from "./canvas_view.js";
import { element } from "./dom.js";
import { loadPicture } from "./pictures.js";
import { showError } from "./messages.js";
import { store } from "./store.js";

export const OTHER = { a: "b", b: "a" };

export class PairView {
  /**
   * @param {HTMLElement} host
   * @param {Object} handlers As those of `CanvasView`, with the side before the other arguments.
   */
  constructor(host, handlers = {}) {
    this.views = {};
    this.heads = {};
    this.busy = {};
    this.overlay = element("canvas.pair-overlay", { "aria-hidden": "true" });
    for (const side of ["a", "b"]) {
      const head = element("button.pair-head", {
        type: "button",
        title: `Put the next image that you pick in ${side.toUpperCase()}`,
        on: { click: () => this.#aim(side) },
      });
      const stage = element("div");
      const busy = element("div.stage-busy", { hidden: true }, [
        element("span.spinner", { "aria-hidden": "true" }),
        element("span.busy-text"),
      ]);
      const panel = element("section.panel.pair-side", { "data-side": side }, [head, stage]);
      host.append(panel);
      const bound = Object.fromEntries(
        Object.entries(handlers).map(([name, handler]) => [
          name,
          (...values) => handler(side, ...values),
        ]),
      );
      this.views[side] = new CanvasView(stage, `Image ${side.toUpperCase()}`, bound);
      stage.append(busy);
      Object.assign(this.heads, { [side]: head });
      Object.assign(this.busy, { [side]: busy });
    }
    host.classList.add("pair");
    host.append(this.overlay);
    this.host = host;
    store.addEventListener("pair", () => this.#drawHeads());
    store.addEventListener("side", () => this.#drawHeads());
  }

  #aim(side) {
    store.side = side;
    store.tell("side");
  }

  #drawHeads() {
    for (const side of ["a", "b"]) {
      const image = store.image(store.pair[side]);
      this.heads[side].replaceChildren(
        element("span.side-letter", { text: side.toUpperCase() }),
        element("span.side-name", { text: image ? image.name : "no image" }),
        element("span.side-hint", { text: "pick from the strip" }),
      );
      this.heads[side].setAttribute("aria-pressed", String(store.side === side));
    }
  }

  /** Loads the two pictures. Returns the images, or null if one of them is missing. */
  async load() {
    this.#drawHeads();
    const images = {};
    await Promise.all(
      ["a", "b"].map(async (side) => {
        const image = store.image(store.pair[side]);
        if (!image)
          return this.views[side].show(null, null, "Drop an image here, or pick one below");
        try {
          const picture = await loadPicture(image);
          // Another image may have been chosen meanwhile.
          if (store.pair[side] !== image.id) return undefined;
          this.views[side].upper.setAttribute(
            "aria-label",
            `Image ${side.toUpperCase()}: ${image.name}`,
          );
          this.views[side].show(image, picture);
          images[side] = image;
        } catch (error) {
          this.views[side].show(null, null, "This image cannot be shown");
          showError(error);
        }
        return undefined;
      }),
    );
    return images.a && images.b ? images : null;
  }

  /** Shows that something is awaited, or with "" that it is there. */
  setBusy(text) {
    for (const busy of Object.values(this.busy)) {
      busy.hidden = !text;
      busy.querySelector(".busy-text").textContent = text;
    }
  }

  /** Prepares the canvas above both images. Returns a context and places in its coordinates. */
  overlayContext() {
    const { clientWidth, clientHeight } = this.host;
    this.overlay.width = Math.max(1, clientWidth * devicePixelRatio);
    this.overlay.height = Math.max(1, clientHeight * devicePixelRatio);
    const context = this.overlay.getContext("2d");
    context.scale(devicePixelRatio, devicePixelRatio);
    const base = this.host.getBoundingClientRect();
    const place = (side, x, y) => {
      const box = this.views[side].upper.getBoundingClientRect();
      const seen = this.views[side].toView(x, y);
      return { x: seen.x + box.left - base.left, y: seen.y + box.top - base.top };
    };
    return { context, place };
  }
}
