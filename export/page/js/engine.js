/** Hands images to the worker that runs the network, and its answers to the page. */

import { Memory } from "./memory.js";

const MOST_IMAGES = 32;

export class Engine {
  /** Seconds: `load` once, `describe` and `match` of each image and pair. */
  times = { load: null, describe: [], match: [] };
  /** Called with a line about what the worker does now. */
  onProgress = () => {};
  /** Called when an image was described. */
  onDescribed = () => {};
  #worker = new Worker("js/worker.js", { type: "module" });
  #waiting = new Map();
  #count = 0;
  #described = new Memory(MOST_IMAGES);
  #pixels;
  #probabilities;

  /**
   * @param {(id: string) => Promise<Object>} pixels As `ImageShelf.pixels`.
   * @param {boolean} probabilities Whether the confidences of the network are probabilities.
   */
  constructor(pixels, probabilities) {
    this.#pixels = pixels;
    this.#probabilities = probabilities;
    this.#worker.addEventListener("message", ({ data }) => this.#hear(data));
    this.#worker.addEventListener("error", (event) => {
      const error = new Error(event.message || "The network could not be started.");
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
  }

  /** Loads the network. Everything else waits for it. */
  async load() {
    const { seconds } = await this.#ask("load", { probabilities: this.#probabilities });
    this.times.load = seconds;
  }

  /** Returns the grid of an image as bytes, as a studio's server sends it. */
  async describe(id) {
    const { header, values } = await this.#describe(id);
    return { header, values };
  }

  /** Returns the flow from one image to another, as a studio's server sends it. */
  async match(source, target) {
    const described = await Promise.all([source, target].map((id) => this.#describe(id)));
    const { seconds, ...answer } = await this.#ask("match", {
      features: described.map(({ features }) => features),
      sizes: described.map(({ size }) => size),
    });
    this.times.match.push(seconds);
    return answer;
  }

  #describe(id) {
    return this.#described.get(id, async () => {
      const { rgba, width, height, size } = await this.#pixels(id);
      const request = { rgba, width, height };
      const { seconds, ...answer } = await this.#ask("describe", request, [rgba.buffer]);
      this.times.describe.push(seconds);
      this.onDescribed();
      return { ...answer, size };
    });
  }

  #ask(what, request, transferred = []) {
    const number = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#worker.postMessage({ number, what, ...request }, transferred);
    });
  }

  #hear({ number, progress, error, answer }) {
    if (progress) {
      this.onProgress(progress);
      return;
    }
    const { resolve, reject } = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (error) reject(new Error(error));
    else resolve(answer);
  }
}
