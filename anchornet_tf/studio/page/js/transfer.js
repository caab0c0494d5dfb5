/** Carries the marks to all images, again after every change, and keeps what was found. */

import { debounce } from "./dom.js";
import { showError } from "./messages.js";
import { startJob } from "./jobs.js";

const QUIET_MILLISECONDS = 450;

export class Transfer extends EventTarget {
  /** What was found, by image. */
  results = new Map();
  /** Images whose results are those of earlier marks. */
  stale = new Set();
  #job = null;
  #last = "";

  /**
   * @param {() => Object} request The fields of the job.
   * @param {import("./progress.js").ProgressBar} bar
   */
  constructor(request, bar) {
    super();
    this.request = request;
    this.bar = bar;
    /** Runs once the hand rests. */
    this.soon = debounce(() => this.run(), QUIET_MILLISECONDS);
  }

  get running() {
    return this.#job !== null;
  }

  #tell(image) {
    this.dispatchEvent(new CustomEvent("found", { detail: image }));
  }

  cancel() {
    this.soon.cancel();
    this.#job?.cancel();
    this.#job = null;
    this.bar.end();
  }

  clear() {
    this.cancel();
    this.#last = "";
    this.results.clear();
    this.stale.clear();
    this.#tell(null);
  }

  /** Carries the marks, unless the same was done before. */
  async run({ again = false } = {}) {
    const request = this.request();
    if (!request.references.length) return this.clear();
    const wanted = JSON.stringify({ ...request, threshold: 0 });
    if (wanted === this.#last && !again) return undefined;
    this.cancel();
    this.#last = wanted;
    for (const { image } of request.references) this.results.delete(image);
    this.stale = new Set(this.results.keys());
    this.#tell(null);
    this.bar.begin("Carrying what you marked to all images…");
    const job = startJob(
      { kind: "transfer", ...request },
      {
        progress: (said) => this.bar.show(said),
        result: (said) => {
          this.results.set(said.image, said);
          this.stale.delete(said.image);
          this.#tell(said.image);
        },
      },
    );
    this.#job = job;
    try {
      await job.finished;
    } catch (error) {
      // What was cancelled or failed may be asked for again.
      if (job === this.#job || !this.#job) this.#last = "";
      showError(error);
    }
    if (job !== this.#job) return undefined;
    this.#job = null;
    this.bar.end();
    return this.dispatchEvent(new Event("finished"));
  }
}
