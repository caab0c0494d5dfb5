/**
 * Keeps the work on the server, so that it survives a reload and two tabs share it.
 *
 * The server counts revisions. Who saves on top of an old one is told so, and takes the newer work
 * over: what another tab did last is not lost silently.
 */

import { debounce } from "./dom.js";
import { getJson, sendJson } from "./api.js";
import { showError, showNotice } from "./messages.js";
import { store } from "./store.js";

const QUIET_MILLISECONDS = 400;
const LATE_MILLISECONDS = 1500;
// Browsers finish requests of a closed page only if they are small.
const MOST_KEPT_ALIVE = 60_000;

export class Work {
  revision = 0;
  settings = {};
  #marks;
  #taking = false;
  #saving = Promise.resolve();
  #channel = new BroadcastChannel("anchornet-studio");
  #later = debounce(() => this.#save(), QUIET_MILLISECONDS);

  /** @param {import("./marks.js").Marks} marks */
  constructor(marks) {
    this.#marks = marks;
    marks.addEventListener("change", () => {
      if (!this.#taking) this.#later();
    });
    this.#channel.addEventListener("message", () => this.refresh().catch(showError));
    // A tab that lay in the background may be behind another browser's.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.#later.flush();
      else this.refresh().catch(() => {});
    });
    addEventListener("pagehide", () => this.#later.flush());
  }

  /** Loads the work for the first time. */
  async load() {
    this.#take(await getJson("/work"));
    // What the page before a reload sent last may arrive after this.
    setTimeout(() => this.refresh().catch(() => {}), LATE_MILLISECONDS);
  }

  /** Takes over what another tab saved, unless this one is about to save. */
  async refresh() {
    await this.#saving;
    const work = await getJson("/work");
    if (work.revision > this.revision && !this.#later.waits()) this.#take(work);
  }

  /** Notes a setting that outlives the page. */
  set(name, value) {
    if (JSON.stringify(this.settings[name]) === JSON.stringify(value)) return;
    this.settings = { ...this.settings, [name]: value };
    this.#later();
  }

  #take(work) {
    this.revision = work.revision;
    this.settings = work.settings ?? {};
    this.#taking = true;
    this.#marks.take(work.marks ?? [], this.settings.names ?? [], { asStep: false });
    this.#taking = false;
    // Marks of an image that is not known here: another tab added it.
    if (this.#marks.references.some((id) => !store.image(id))) store.refresh().catch(() => {});
  }

  #save() {
    this.#saving = this.#saving.then(() => this.#put()).catch(showError);
    return this.#saving;
  }

  async #put(isKept = (id) => !store.removed.has(id)) {
    const settings = { ...this.settings, names: this.#marks.names };
    const marks = this.#marks.toList().filter(({ image }) => isKept(image));
    try {
      const work = { revision: this.revision, marks, settings };
      const keepalive = JSON.stringify(work).length < MOST_KEPT_ALIVE;
      ({ revision: this.revision } = await sendJson("PUT", "/work", work, { keepalive }));
      this.settings = settings;
      this.#channel.postMessage(this.revision);
    } catch (error) {
      if (error.status === 404) {
        // Another tab removed an image that is marked here.
        await store.refresh();
        if (marks.some(({ image }) => !store.image(image))) {
          await this.#put((id) => store.image(id) !== null);
          return;
        }
      }
      if (error.status !== 409) throw error;
      const current = error.body.work ?? error.body;
      this.#take(current.marks ? current : await getJson("/work"));
      showNotice("Another tab changed the work meanwhile; its newer state is shown here.");
    }
  }
}
