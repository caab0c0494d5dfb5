/** Many: every image pulled onto a chosen one, in the order of likeness, and their average. */

import { addressWithToken } from "./api.js";
import { byId, element } from "./dom.js";
import { announce, showError } from "./messages.js";
import { inWords, ProgressBar } from "./progress.js";
import { pictureAddress } from "./pictures.js";
import { startJob } from "./jobs.js";
import { store } from "./store.js";

const SIDE = 160;

export class ManyMode {
  #image = null;
  #job = null;
  #found = [];

  constructor() {
    this.grid = byId("many-grid");
    this.bar = new ProgressBar(byId("many-progress"), () =>
      this.#stop("Cancelled. What was done is shown."),
    );
    byId("many-start").addEventListener("click", () => this.#start());
    for (const radio of document.getElementsByName("many-shown")) {
      radio.addEventListener("change", () => this.#fill());
    }
    store.addEventListener("images", () => {
      if (this.#image && !store.image(this.#image)) this.#reset(store.readable()[0]?.id ?? null);
    });
    store.addEventListener("method", () => this.#reset(this.#image));
  }

  enter() {
    this.active = true;
    if (!this.#image) this.#reset(store.pair.a ?? store.readable()[0]?.id ?? null);
  }

  leave() {
    this.active = false;
  }

  badges() {
    return new Map([[this.#image, "•"]]);
  }

  /** Another image was chosen: everything is pulled onto that one. */
  pick(id) {
    if (id === this.#image) return;
    const again = this.#found.length > 0 || this.#job;
    this.#reset(id);
    if (again) this.#start();
  }

  #reset(id) {
    this.#stop("");
    this.#image = id;
    this.#found = [];
    const image = store.image(id);
    byId("many-name").textContent = image?.name ?? "no image";
    if (image) byId("many-chosen").src = pictureAddress(image, 512);
    byId("many-chosen").hidden = !image;
    for (const which of ["before", "after"]) this.#average(which, null);
    const others = store.readable().length - 1;
    byId("many-start").disabled = !image || others < 1;
    byId("many-empty").hidden = false;
    byId("many-empty").textContent =
      others < 1
        ? "Add more images: every other one is pulled onto the chosen one."
        : `${others} other images will be pulled onto this one, place by place. ` +
          "Pick another in the strip to change it.";
    this.#fill();
    store.tell("badges");
  }

  #stop(text) {
    this.#job?.cancel();
    this.#job = null;
    this.bar.end();
    this.#say(text);
  }

  #say(text) {
    byId("many-line").textContent = text;
  }

  async #start() {
    this.#stop("");
    const chosen = this.#image;
    this.#found = [];
    for (const which of ["before", "after"]) this.#average(which, null);
    byId("many-empty").hidden = true;
    this.bar.begin("Matching every image with this one…");
    this.#fill();
    const job = startJob(
      {
        kind: "many",
        image: chosen,
        images: null,
        side: SIDE,
        descriptor: store.descriptor,
        matcher: store.matcher,
      },
      { progress: (said) => this.bar.show(said), result: (said) => this.#add(said) },
    );
    this.#job = job;
    try {
      const done = await job.finished;
      if (job !== this.#job) return;
      this.#average("before", done.plain_average);
      this.#average("after", done.average);
      this.#say(`${this.#found.length} images in ${inWords(done.seconds)}`);
      announce(byId("many-line").textContent);
    } catch (error) {
      showError(error);
    }
    if (job !== this.#job) return;
    this.#job = null;
    this.bar.end();
  }

  #average(which, source) {
    const picture = byId(`many-${which}`);
    picture.hidden = !source;
    if (source) picture.src = addressWithToken(source);
    else picture.removeAttribute("src");
  }

  /** Puts a result at its place in the order of likeness. */
  #add(result) {
    if (result.image === this.#image || result.error) return;
    const place = this.#found.findIndex((other) => other.similarity < result.similarity);
    const number = place < 0 ? this.#found.length : place;
    this.#found.splice(number, 0, result);
    this.grid.insertBefore(this.#card(result), this.grid.children[number] ?? null);
  }

  #fill() {
    this.grid.replaceChildren(...this.#found.map((result) => this.#card(result)));
  }

  #card(result) {
    const image = store.image(result.image);
    const warped = document.querySelector("input[name=many-shown]:checked").value === "warped";
    const source = warped ? addressWithToken(result.picture) : pictureAddress(image, SIDE);
    const likeness = Math.round(100 * result.similarity);
    return element(
      "button.card.plain-card",
      {
        type: "button",
        title: `${image.name}: pull everything onto this one`,
        "aria-label": `${image.name}, likeness ${likeness} %`,
        "data-image": image.id,
        on: { click: () => this.pick(image.id) },
      },
      [
        element("img.card-picture", { src: source, loading: "lazy", alt: "" }),
        element("span.card-foot", {}, [
          element("span.card-name", { text: image.name }),
          element("span.card-score", { text: `${likeness} %` }),
        ]),
      ],
    );
  }
}
