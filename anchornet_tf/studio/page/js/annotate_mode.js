/** Annotate once: what is marked in one image appears in all others, and can be corrected. */

import { AnnotateCanvas } from "./annotate_canvas.js";
import { byId, isTyping } from "./dom.js";
import { Cards } from "./cards.js";
import { contentsOf, statusLine, summaryLine } from "./annotate_contents.js";
import { connectFiles } from "./annotation_files.js";
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
    this.canvas = new AnnotateCanvas(byId("annotate-stage"), {
      points: () => this.contents(this.current).points,
      regions: () => this.contents(this.current).regions,
      place: (x, y) => this.#place(x, y),
      move: (name, x, y) => this.#move(name, x, y),
      remove: (name) => this.#remove(name),
      choose: (name) => this.choose(name),
      chosenPolygons: () => this.#region()?.polygons ?? [],
      addPolygon: (polygon) => this.#setPolygons([...(this.#region()?.polygons ?? []), polygon]),
      setPolygons: (polygons) => this.#setPolygons(polygons),
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
    byId("accept").addEventListener("click", () => this.#accept());
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

  /** Marks a point where was clicked: the chosen one, or the next that is not there yet. */
  #place(x, y) {
    const here = new Set(this.contents(this.current).points.map(({ name }) => name));
    const isFound = !this.marks.isReference(this.current) && here.size > 0;
    const next = this.marks.names.find((name) => !here.has(name));
    const chosen = this.canvas.chosen;
    const wanted = chosen && (isFound || !here.has(chosen)) ? chosen : next;
    if (isFound && !wanted) {
      announce("Drag a point that is wrong, or choose one in the list and click its place.");
      return;
    }
    this.#move(wanted ?? this.marks.freshName(), x, y);
    this.canvas.chosen = null;
    this.#refresh();
  }

  /** Moves a point. An image in which things were only found becomes a reference. */
  #move(name, x, y) {
    const kept = this.#kept().filter((point) => point.name !== name);
    if (this.marks.isReference(this.current) || !kept.length) {
      this.marks.setPoint(this.current, name, x, y);
      return;
    }
    this.marks.adopt(this.current, [...kept, { name, x, y }], this.#keptRegions());
    announce(`${store.image(this.current).name} is a reference now.`);
  }

  /** Found points that count as right when the image becomes a reference: those that are sure. */
  #kept() {
    return this.contents(this.current).points.filter(({ kind }) => kind === "sure");
  }

  #keptRegions() {
    return this.contents(this.current)
      .regions.filter(({ kind }) => kind === "sure")
      .map(({ name, polygons }) => ({ name, polygons }));
  }

  #remove(name) {
    this.canvas.chosen = null;
    if (this.marks.isReference(this.current)) this.marks.removePoint(this.current, name);
    else
      this.marks.adopt(
        this.current,
        this.#kept().filter((point) => point.name !== name),
      );
  }

  /** Everything that was found is right, says the user. */
  #accept() {
    const { points, regions } = this.contents(this.current);
    this.marks.adopt(
      this.current,
      points,
      regions.map(({ name, polygons }) => ({ name, polygons })),
    );
  }

  #regionName() {
    return byId("region-name").value.trim() || "object";
  }

  #region() {
    return this.contents(this.current).regions.find(({ name }) => name === this.#regionName());
  }

  #setPolygons(polygons) {
    const name = this.#regionName();
    const isReference = this.marks.isReference(this.current);
    const present = isReference ? this.marks.of(this.current).regions : this.#keptRegions();
    const others = present.filter((region) => region.name !== name);
    const regions = polygons.length ? [...others, { name, polygons }] : others;
    if (isReference) this.marks.setRegions(this.current, regions);
    else this.marks.adopt(this.current, this.#kept(), regions);
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
