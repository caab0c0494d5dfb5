/**
 * What all modes share: the images, the descriptor and the matcher, and the pair that is looked at.
 *
 * Parts of the page do not know each other. They change the store, and listen to it.
 */

import { getJson, remove, sendFile } from "./api.js";

class Store extends EventTarget {
  state = null;
  images = [];
  /** Ids of images that were removed here. */
  removed = new Set();
  descriptor = "";
  matcher = "";
  /** Ids of the images that Hover and Look compare. */
  pair = { a: null, b: null };
  /** The side of the pair that a click in the strip replaces. */
  side = "b";

  async load() {
    this.state = await getJson("/state");
    this.images = this.state.images;
    this.descriptor = this.state.default.descriptor;
    this.matcher = this.state.default.matcher;
    const [a, b] = this.readable();
    this.pair = { a: a?.id ?? null, b: b?.id ?? null };
  }

  /** Images that can be read. */
  readable() {
    return this.images.filter((image) => !image.error);
  }

  image(id) {
    return this.images.find((image) => image.id === id) ?? null;
  }

  /** Tells listeners that something changed: "images", "pair" or "method". */
  tell(what) {
    this.dispatchEvent(new Event(what));
  }

  choose(side, id) {
    this.pair[side] = id;
    this.tell("pair");
  }

  swap() {
    this.pair = { a: this.pair.b, b: this.pair.a };
    this.tell("pair");
  }

  setMethod(descriptor, matcher) {
    this.descriptor = descriptor;
    this.matcher = matcher;
    this.tell("method");
  }

  /** Sends a file to the server and lists it. Returns the image. */
  async upload(file) {
    const image = await sendFile("/images", file);
    if (!this.image(image.id)) {
      this.images.push(image);
      this.tell("images");
    }
    return image;
  }

  /** Asks again which images there are: another tab may have added or removed some. */
  async refresh() {
    const { images } = await getJson("/state");
    const list = (all) => all.map(({ id }) => id).join();
    if (list(images) === list(this.images)) return;
    this.images = images;
    this.tell("images");
  }

  async remove(id) {
    await remove(`/images/${id}`);
    this.removed.add(id);
    this.images = this.images.filter((image) => image.id !== id);
    for (const side of ["a", "b"]) {
      if (this.pair[side] !== id) continue;
      const other = this.pair[side === "a" ? "b" : "a"];
      this.pair[side] = this.readable().find((image) => image.id !== other)?.id ?? null;
    }
    this.tell("images");
    this.tell("pair");
  }
}

export const store = new Store();
