/**
 * What the user marked: names of points, and for each image the points and regions in it.
 *
 * Every change is a step that can be undone. States are never changed in place, so that a step is
 * no more than the state before it.
 */

const MOST_STEPS = 200;

/**
 * @typedef {{name: string, polygons: Array}} Region
 * @typedef {{points: Object<string, number[]>, regions: Region[]}} Marked
 * @typedef {{names: string[], images: Object<string, Marked>}} State
 */

export class Marks extends EventTarget {
  /** @type {State} */
  state = { names: [], images: {} };
  #undone = [];
  #done = [];

  get names() {
    return this.state.names;
  }

  /** Marks of an image; empty ones where it has none. */
  of(id) {
    return this.state.images[id] ?? { points: {}, regions: [] };
  }

  isReference(id) {
    return id in this.state.images;
  }

  get references() {
    return Object.keys(this.state.images);
  }

  get canUndo() {
    return this.#done.length > 0;
  }

  get canRedo() {
    return this.#undone.length > 0;
  }

  /** Makes a step: `change` gets a copy of the state and changes it. */
  change(change) {
    const next = structuredClone(this.state);
    change(next);
    for (const [id, { points, regions }] of Object.entries(next.images)) {
      if (!Object.keys(points).length && !regions.length) delete next.images[id];
    }
    this.#done.push(this.state);
    if (this.#done.length > MOST_STEPS) this.#done.shift();
    this.#undone = [];
    this.#set(next);
  }

  undo() {
    if (!this.canUndo) return;
    this.#undone.push(this.state);
    this.#set(this.#done.pop());
  }

  redo() {
    if (!this.canRedo) return;
    this.#done.push(this.state);
    this.#set(this.#undone.pop());
  }

  #set(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }

  setPoint(id, name, x, y) {
    this.change((next) => {
      imageOf(next, id).points[name] = [rounded(x), rounded(y)];
      if (!next.names.includes(name)) next.names.push(name);
    });
  }

  removePoint(id, name) {
    this.change((next) => delete imageOf(next, id).points[name]);
  }

  /** Makes an image a reference with these points, beside what it has. */
  adopt(id, points, regions = []) {
    this.change((next) => {
      const image = imageOf(next, id);
      for (const { name, x, y } of points) image.points[name] = [rounded(x), rounded(y)];
      image.regions.push(...regions);
    });
  }

  /** What was marked in an image is forgotten; it is found again from the others. */
  drop(id) {
    this.change((next) => delete next.images[id]);
  }

  /** Returns a name that is not taken: "point 3". */
  freshName() {
    let number = this.names.length + 1;
    while (this.names.includes(`point ${number}`)) number++;
    return `point ${number}`;
  }

  addName(name) {
    if (!this.names.includes(name)) this.change((next) => next.names.push(name));
  }

  /** Renames a point in all images. Returns false if the name is taken. */
  rename(name, into) {
    if (name === into) return true;
    if (!into || this.names.includes(into)) return false;
    this.change((next) => {
      next.names[next.names.indexOf(name)] = into;
      for (const { points } of Object.values(next.images)) {
        if (!(name in points)) continue;
        points[into] = points[name];
        delete points[name];
      }
    });
    return true;
  }

  deleteName(name) {
    this.change((next) => {
      next.names = next.names.filter((other) => other !== name);
      for (const { points } of Object.values(next.images)) delete points[name];
    });
  }

  setRegions(id, regions) {
    this.change((next) => (imageOf(next, id).regions = regions));
  }

  /** The marks as the server takes them, points in the order of the names. */
  toList() {
    return Object.entries(this.state.images).map(([image, { points, regions }]) => ({
      image,
      points: this.names
        .filter((name) => name in points)
        .map((name) => ({ name, x: points[name][0], y: points[name][1] })),
      regions,
    }));
  }

  /** Takes over marks of a file or of another tab; those of other images stay if `beside`. */
  take(list, names = [], { beside = false, asStep = true } = {}) {
    const state = fromList(list, names);
    if (!asStep) {
      this.#done = [];
      this.#undone = [];
      this.#set(state);
      return;
    }
    this.change((next) => {
      if (!beside) Object.assign(next, state);
      Object.assign(next.images, state.images);
      for (const name of state.names) if (!next.names.includes(name)) next.names.push(name);
    });
  }
}

function imageOf(state, id) {
  state.images[id] ??= { points: {}, regions: [] };
  return state.images[id];
}

/** Tenths of a pixel are finer than any hand. */
function rounded(value) {
  return Math.round(value * 10) / 10;
}

function fromList(list, names) {
  const state = { names: [...names], images: {} };
  for (const { image, points, regions } of list) {
    const marked = imageOf(state, image);
    for (const { name, x, y } of points) {
      marked.points[name] = [x, y];
      if (!state.names.includes(name)) state.names.push(name);
    }
    marked.regions.push(...(regions ?? []));
  }
  return state;
}
