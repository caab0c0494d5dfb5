/** Annotate once: what is marked in one image appears in all others, and can be corrected. */

import { AnnotateCanvas } from "./annotate_canvas.js";
import { byId, isTyping } from "./dom.js";
import { Cards } from "./cards.js";
import { contentsOf, statusLine, summaryLine } from "./annotate_contents.js";
import { connectFiles } from "./annotation_files.js";
import { Edits } from "./annotate_edits.js";
import { loadPicture } from "./pictures.js";
import { PointList } from "./point_list.js";
import { ProgressBar } from "./progress.js";
import { announce, showError } from "./messages.js";
import { store } from "./store.js";
import { Transfer } from "./transfer.js";

export class AnnotateMode {
  current = null;
  #pending = null;

  constructor(marks, work) {
    this.marks = marks;
    this.work = work;
    this.transfer = new Transfer(
      () => this.request(),
      new ProgressBar(byId("annotate-progress"), () => {
        this.transfer.cancel();
        this.#refresh();
        announce("Cancelled");
      }),
    );
    this.edits = new Edits(
      marks,
      () => this.current,
      () => this.contents(this.current),
    );
    this.canvas = new AnnotateCanvas(byId("annotate-stage"), {
      points: () => this.contents(this.current).points,
      regions: () => this.contents(this.current).regions,
      place: (x, y) => {
        if (this.edits.place(x, y, this.canvas.chosen)) this.choose(null);
      },
      move: (name, x, y) => this.edits.move(name, x, y),
      remove: (name) => {
        this.edits.remove(name);
        this.choose(null);
      },
      choose: (name) => this.choose(name),
      chosenPolygons: () => this.edits.polygons(),
      addPolygon: (polygon) => this.edits.setPolygons([...this.edits.polygons(), polygon]),
      setPolygons: (polygons) => this.edits.setPolygons(polygons),
    });
    this.list = new PointList(marks, (name) => this.choose(name));
    this.cards = new Cards(
      byId("annotate-cards"),
      (id) => this.pick(id),
      (id) => this.contents(id),
    );
    connectFiles(marks, () => this.request());
    this.#listen();
  }

  get threshold() {
    return Number(byId("threshold").value) / 100;
  }

  /** The fields of a transfer job, and of an export. */
  request() {
    return {
      references: this.marks.toList().filter(({ image }) => store.image(image)),
      images: null,
      threshold: this.threshold,
      mirror: byId("annotate-mirror").checked,
      references_per_image: 5,
      descriptor: store.descriptor,
      matcher: store.matcher,
    };
  }

  #listen() {
    const { marks, transfer } = this;
    marks.addEventListener("change", () => {
      this.#refresh();
      if (this.active) transfer.soon();
    });
    marks.addEventListener("look", () => this.#refresh());
    transfer.addEventListener("found", ({ detail }) => this.#found(detail));
    transfer.addEventListener("finished", () => {
      this.#sort();
      this.#refresh();
      announce(byId("annotate-line").textContent);
    });
    store.addEventListener("images", () => {
      if (!this.active) return;
      this.#sort();
      transfer.run({ again: true });
      if (store.image(this.current)) return;
      this.#keepCurrent();
      this.pick(this.current);
    });
    store.addEventListener("method", () => this.active && transfer.run());
    byId("annotate-mirror").addEventListener("change", () => transfer.run());
    byId("annotate-names").addEventListener("change", () => this.canvas.draw());
    byId("annotate-order").addEventListener("change", () => this.#sort());
    byId("threshold").addEventListener("input", () => {
      this.work.set("threshold", this.threshold);
      this.#refresh();
    });
    byId("undo").addEventListener("click", () => marks.undo());
    byId("redo").addEventListener("click", () => marks.redo());
    byId("accept").addEventListener("click", () => this.edits.accept());
    byId("forget").addEventListener("click", () => marks.drop(this.current));
    for (const radio of document.getElementsByName("tool")) {
      radio.addEventListener("change", () => {
        this.canvas.setTool(radio.value);
        byId("region-options").hidden = radio.value === "point";
        byId("brush-label").hidden = !["paint", "erase"].includes(radio.value);
        this.#refresh();
      });
    }
    addEventListener("keydown", (event) => {
      if (!this.active || isTyping(event) || !(event.ctrlKey || event.metaKey)) return;
      const key = event.key.toLowerCase();
      const action =
        key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
      if (!action) return;
      event.preventDefault();
      marks[action]();
    });
  }

  enter() {
    this.active = true;
    if (this.work.settings.threshold !== undefined) {
      byId("threshold").value = 100 * this.work.settings.threshold;
    }
    this.#sort();
    this.#keepCurrent();
    this.transfer.run();
    return this.pick(this.current);
  }

  /** An image that is gone gives its place to a marked one, or to the first. */
  #keepCurrent() {
    if (store.image(this.current)) return;
    const first = this.marks.references.find((id) => store.image(id)) ?? store.readable()[0]?.id;
    this.current = first ?? null;
  }

  leave() {
    this.active = false;
  }

  badges() {
    return new Map([[this.current, "•"], ...this.marks.references.map((id) => [id, "✓"])]);
  }

  /** Shows an image large. */
  async pick(id) {
    const image = store.image(id);
    if (!image) return this.canvas.view.show(null, null, "Drop images here to begin");
    this.current = id;
    this.canvas.chosen = null;
    this.canvas.regions.reset();
    this.#pending = id;
    try {
      const picture = await loadPicture(image);
      if (this.#pending !== id) return undefined;
      this.canvas.view.upper.setAttribute("aria-label", `Image to annotate: ${image.name}`);
      this.canvas.view.show(image, picture);
    } catch (error) {
      this.canvas.view.show(null, null, "This image cannot be shown");
      showError(error);
    }
    return this.#refresh();
  }

  choose(name) {
    this.canvas.chosen = name;
    this.#refresh();
  }

  contents(id) {
    return contentsOf(id, this.marks, this.transfer, this.threshold, id === this.current);
  }

  #found(id) {
    if (id) this.cards.update(id);
    else this.cards.updateAll();
    if (!id || id === this.current) this.#refresh();
  }

  #sort() {
    const ids = store.readable().map((image) => image.id);
    if (byId("annotate-order").value === "unsure") {
      const key = (id) => (this.marks.isReference(id) ? 2 : (this.contents(id).mean ?? 1.5));
      ids.sort((one, other) => key(one) - key(other));
    }
    this.cards.fill(ids);
  }

  #refresh() {
    if (!this.active) return;
    const { marks } = this;
    const contents = this.contents(this.current);
    const kinds = new Map(contents.points.map(({ name, kind }) => [name, kind]));
    this.list.fill((name) => kinds.get(name) ?? "", this.canvas.chosen);
    this.canvas.draw();
    this.cards.updateAll();
    const isReference = marks.isReference(this.current);
    byId("annotate-image").textContent = contents.name;
    byId("annotate-status").textContent = statusLine(
      contents,
      isReference,
      this.marks.names,
      this.canvas,
    );
    byId("accept").hidden = isReference || !(contents.points.length + contents.regions.length);
    byId("forget").hidden = !isReference;
    byId("undo").disabled = !marks.canUndo;
    byId("redo").disabled = !marks.canRedo;
    byId("threshold-value").textContent = `${byId("threshold").value} %`;
    byId("annotate-line").textContent = summaryLine(this.marks, this.transfer, (id) =>
      this.contents(id),
    );
    store.tell("badges");
  }
}
