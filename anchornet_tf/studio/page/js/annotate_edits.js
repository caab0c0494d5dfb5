/**
 * What the hand does to the marks of the image that is shown large.
 *
 * An image in which things were only found becomes a reference as soon as something in it is
 * corrected. What counts as right then is what was sure, and what was corrected.
 */

import { announce } from "./messages.js";
import { byId } from "./dom.js";
import { store } from "./store.js";

export class Edits {
  #marks;
  #id;
  #contents;

  /**
   * @param {import("./marks.js").Marks} marks
   * @param {() => string} id The image.
   * @param {() => Object} contents What is drawn in it, see `contentsOf`.
   */
  constructor(marks, id, contents) {
    this.#marks = marks;
    this.#id = id;
    this.#contents = contents;
  }

  get #isReference() {
    return this.#marks.isReference(this.#id());
  }

  /** Marks a point: the chosen one, or the next that is not there yet. Returns whether it did. */
  place(x, y, chosen) {
    const here = new Set(this.#contents().points.map(({ name }) => name));
    const isFound = !this.#isReference && here.size > 0;
    const next = this.#marks.names.find((name) => !here.has(name));
    const wanted = chosen && (isFound || !here.has(chosen)) ? chosen : next;
    if (isFound && !wanted) {
      announce("Drag a point that is wrong, or choose one in the list and click its place.");
      return false;
    }
    this.move(wanted ?? this.#marks.freshName(), x, y);
    return true;
  }

  move(name, x, y) {
    const sure = this.#surePoints().filter((point) => point.name !== name);
    const regions = this.#sureRegions();
    if (this.#isReference || !(sure.length + regions.length)) {
      this.#marks.setPoint(this.#id(), name, x, y);
      return;
    }
    this.#marks.adopt(this.#id(), [...sure, { name, x, y }], regions);
    announce(`${store.image(this.#id()).name} is a reference now.`);
  }

  remove(name) {
    if (this.#isReference) return this.#marks.removePoint(this.#id(), name);
    const sure = this.#surePoints().filter((point) => point.name !== name);
    return this.#marks.adopt(this.#id(), sure, this.#sureRegions());
  }

  /** Everything that was found is right, says the user. */
  accept() {
    const { points, regions } = this.#contents();
    this.#marks.adopt(this.#id(), points, regions.map(plain));
  }

  /** The polygons of the region whose name is in the field. */
  polygons() {
    const name = regionName();
    return this.#contents().regions.find((region) => region.name === name)?.polygons ?? [];
  }

  setPolygons(polygons) {
    const name = regionName();
    const present = this.#isReference ? this.#marks.of(this.#id()).regions : this.#sureRegions();
    const others = present.filter((region) => region.name !== name);
    const regions = polygons.length ? [...others, { name, polygons }] : others;
    if (this.#isReference) this.#marks.setRegions(this.#id(), regions);
    else this.#marks.adopt(this.#id(), this.#surePoints(), regions);
  }

  #surePoints() {
    return this.#contents().points.filter(({ kind }) => kind === "sure");
  }

  #sureRegions() {
    return this.#contents()
      .regions.filter(({ kind }) => kind === "sure")
      .map(plain);
  }
}

function plain({ name, polygons }) {
  return { name, polygons };
}

function regionName() {
  return byId("region-name").value.trim() || "object";
}
