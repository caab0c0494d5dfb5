/** The strip of thumbnails below everything. Pictures load when they come into view. */

import { byId, element } from "./dom.js";
import { pictureAddress } from "./pictures.js";
import { showError, withName } from "./messages.js";
import { store } from "./store.js";

const SIDE = 160;

export class Strip {
  #buttons = new Map();
  // The browser's own lazy loading looks thousands of pixels ahead: all of a few hundred.
  #watcher = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const picture = target.querySelector("img[data-src]");
        if (!isIntersecting || !picture) continue;
        picture.src = picture.dataset.src;
        this.#watcher.unobserve(target);
      }
    },
    { rootMargin: "100px 400px" },
  );

  /**
   * @param {(id: string) => void} pick What to do with an image that was picked.
   * @param {() => Map<string, string>} badges Short marks for some images: "A", "B".
   */
  constructor(pick, badges) {
    this.pick = pick;
    this.badges = badges;
    this.list = byId("strip-list");
    this.find = byId("strip-find");
    this.find.addEventListener("input", () => this.#filter());
    store.addEventListener("images", () => this.fill());
    for (const what of ["pair", "badges"]) store.addEventListener(what, () => this.mark());
    this.list.addEventListener("keydown", (event) => this.#step(event));
  }

  fill() {
    this.#watcher.disconnect();
    this.#buttons.clear();
    this.list.replaceChildren(...store.images.map((image) => this.#item(image)));
    byId("strip-count").textContent =
      store.images.length === 1 ? "1 image" : `${store.images.length} images`;
    // A search is of use where the eye does not find a picture at once.
    this.find.hidden = store.images.length < 24;
    this.mark();
    this.#filter();
  }

  #item(image) {
    const button = element(
      "button.thumb",
      {
        type: "button",
        title: image.error
          ? withName(image.name, image.error)
          : `${image.name}, ${image.width} × ${image.height}`,
        "aria-label": image.name,
        "data-image": image.id,
        draggable: "true",
        on: {
          click: () =>
            image.error ? showError(withName(image.name, image.error)) : this.pick(image.id),
          dragstart: (event) => event.dataTransfer.setData("text/x-studio-image", image.id),
        },
      },
      [
        image.error
          ? element("span.thumb-broken", { text: "cannot be read" })
          : element("img", {
              "data-src": pictureAddress(image, SIDE),
              alt: "",
              draggable: "false",
            }),
        element("span.badge", { hidden: true }),
      ],
    );
    this.#buttons.set(image.id, button);
    this.#watcher.observe(button);
    const item = element("li", {}, [button]);
    if (image.source === "upload") {
      item.append(
        element("button.thumb-remove", {
          type: "button",
          "aria-label": `Remove ${image.name}`,
          title: "Remove this image",
          text: "×",
          on: { click: () => store.remove(image.id).catch(showError) },
        }),
      );
    }
    return item;
  }

  /** Shows which images are in use. */
  mark() {
    const badges = this.badges();
    for (const [id, button] of this.#buttons) {
      const badge = button.querySelector(".badge");
      const text = badges.get(id) ?? "";
      badge.textContent = text;
      badge.hidden = !text;
      button.classList.toggle("in-use", Boolean(text));
    }
  }

  /** Brings an image into view. */
  reveal(id) {
    this.#buttons.get(id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #filter() {
    const text = this.find.value.trim().toLowerCase();
    for (const image of store.images) {
      const item = this.#buttons.get(image.id).parentElement;
      item.hidden = Boolean(text) && !image.name.toLowerCase().includes(text);
    }
  }

  /** Arrow keys go from one thumbnail to the next. */
  #step(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    const shown = [...this.#buttons.values()].filter((button) => !button.parentElement.hidden);
    const next = shown[shown.indexOf(document.activeElement) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}
