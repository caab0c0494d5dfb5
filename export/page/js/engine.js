/** Hands images to the worker that runs the network, and its answers to the page. */

export class Engine {
  /** Seconds: `load` once, `describe` and `match` of each image and pair. */
  times = { load: null, describe: [], match: [] };
  /** Called with a line about what the worker does now. */
  onProgress = () => {};
  #worker = new Worker("js/worker.js", { type: "module" });
  #waiting = new Map();
  #count = 0;
  #sizes = new Map();
  #pixels;

  /** @param {(id: string) => Promise<Object>} pixels As `ImageShelf.pixels`. */
  constructor(pixels) {
    this.#pixels = pixels;
    this.#worker.addEventListener("message", ({ data }) => this.#hear(data));
    this.#worker.addEventListener("error", (event) => {
      const error = new Error(event.message || "The network could not be started.");
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    });
  }

  /** Loads the network. Everything else waits for it. */
  async load() {
    const { seconds } = await this.#ask("load", {});
    this.times.load = seconds;
  }

  /** Returns the grid of an image as bytes, as a studio's server sends it. */
  async describe(id) {
    const { rgba, width, height, size } = await this.#pixels(id);
    this.#sizes.set(id, size);
    const request = { id, rgba, width, height };
    const { seconds, ...answer } = await this.#ask("describe", request, [rgba.buffer]);
    this.times.describe.push(seconds);
    return answer;
  }

  /** Returns the flow from one image to another; both are described if they were not yet. */
  async match(source, target) {
    // One after the other: the worker does one thing at a time.
    for (const id of [source, target]) if (!this.#sizes.has(id)) await this.describe(id);
    const sizes = [source, target].map((id) => this.#sizes.get(id));
    try {
      const { seconds, ...answer } = await this.#ask("match", { source, target, sizes });
      this.times.match.push(seconds);
      return answer;
    } catch (error) {
      // The worker keeps a limited number of images; those that it forgot are described again.
      if (error.name !== "Forgotten") throw error;
      for (const id of [source, target]) await this.describe(id);
      return this.match(source, target);
    }
  }

  #ask(what, request, transferred = []) {
    const number = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#worker.postMessage({ number, what, ...request }, transferred);
    });
  }

  #hear({ number, progress, error, answer }) {
    if (progress) return this.onProgress(progress);
    const { resolve, reject } = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (!error) return resolve(answer);
    const made = new Error(error.message);
    made.name = error.name;
    return reject(made);
  }
}
