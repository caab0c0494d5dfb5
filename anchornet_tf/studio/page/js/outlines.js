/** Turns what was painted into outlines: files and the server hold regions as polygons. */

import { SURE } from "./colours.js";

const MASK_SIDE = 640;
// In pixels of the mask: less than a step of a painted border.
const TOLERANCE = 0.8;

/** A mask to paint on, in the shape of an image. */
export class PaintedMask {
  /** @param {{width: number, height: number}} image */
  constructor(image) {
    this.image = image;
    this.scale = Math.min(1, MASK_SIDE / Math.max(image.width, image.height));
    this.width = Math.max(1, Math.round(image.width * this.scale));
    this.height = Math.max(1, Math.round(image.height * this.scale));
    this.canvas = new OffscreenCanvas(this.width, this.height);
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.context.fillStyle = this.context.strokeStyle = SURE;
  }

  #place([x, y]) {
    return [
      ((x + 0.5) * this.width) / this.image.width,
      ((y + 0.5) * this.height) / this.image.height,
    ];
  }

  /** Fills polygons of the image. */
  add(polygons) {
    this.context.globalCompositeOperation = "source-over";
    for (const polygon of polygons) {
      this.context.beginPath();
      polygon.forEach((corner, number) =>
        number
          ? this.context.lineTo(...this.#place(corner))
          : this.context.moveTo(...this.#place(corner)),
      );
      this.context.closePath();
      this.context.fill("evenodd");
    }
  }

  /** Paints or erases a stroke; the width is in pixels of the image. */
  stroke(from, to, width, erase) {
    const { context } = this;
    context.globalCompositeOperation = erase ? "destination-out" : "source-over";
    context.lineCap = "round";
    context.lineWidth = Math.max(1, width * this.scale);
    context.beginPath();
    context.moveTo(...this.#place(from));
    context.lineTo(...this.#place([to[0] + 1e-3, to[1]]));
    context.stroke();
  }

  /** The outlines of the painted parts, in pixels of the image. Holes are filled. */
  polygons() {
    const { data } = this.context.getImageData(0, 0, this.width, this.height);
    const mask = new Uint8Array(this.width * this.height);
    for (let pixel = 0; pixel < mask.length; pixel++)
      mask[pixel] = data[pixel * 4 + 3] > 127 ? 1 : 0;
    return trace(mask, this.width, this.height)
      .map((loop) => simplify(loop, TOLERANCE))
      .filter((loop) => loop.length >= 3)
      .map((loop) =>
        loop.map(([x, y]) => [
          round((x * this.image.width) / this.width - 0.5),
          round((y * this.image.height) / this.height - 0.5),
        ]),
      );
  }
}

function round(value) {
  return Math.round(value * 10) / 10;
}

/**
 * Follows the borders between painted pixels and others, the painted ones on the right hand.
 * @param {Uint8Array} mask
 * @returns {number[][][]} the outer borders as corners of pixels; borders of holes are left out.
 */
export function trace(mask, width, height) {
  const at = (x, y) => x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x] === 1;
  const stride = width + 1;
  const starts = new Map();
  const edge = (x, y, toX, toY) => {
    const from = y * stride + x;
    if (!starts.has(from)) starts.set(from, []);
    starts.get(from).push([toX, toY]);
  };
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!at(x, y)) continue;
      if (!at(x, y - 1)) edge(x, y, x + 1, y);
      if (!at(x + 1, y)) edge(x + 1, y, x + 1, y + 1);
      if (!at(x, y + 1)) edge(x + 1, y + 1, x, y + 1);
      if (!at(x - 1, y)) edge(x, y + 1, x, y);
    }
  }
  const loops = [];
  for (const [from, ends] of starts) {
    while (ends.length) {
      const loop = [[from % stride, Math.floor(from / stride)]];
      let next = ends.pop();
      while (next[1] * stride + next[0] !== from) {
        loop.push(next);
        next = starts.get(next[1] * stride + next[0]).pop();
      }
      if (area(loop) > 0) loops.push(loop);
    }
  }
  return loops;
}

/** Twice the area; negative where the border runs the other way round, as that of a hole does. */
function area(loop) {
  let sum = 0;
  loop.forEach(([x, y], number) => {
    const [toX, toY] = loop[(number + 1) % loop.length];
    sum += x * toY - toX * y;
  });
  return sum;
}

/** Leaves out corners that lie within `tolerance` of the line between those that stay. */
export function simplify(loop, tolerance) {
  if (loop.length < 4) return loop;
  // A loop has no ends: it is cut at its first corner and at the one farthest from that.
  let middle = 0;
  let farthest = -1;
  loop.forEach(([x, y], number) => {
    const distance = Math.hypot(x - loop[0][0], y - loop[0][1]);
    if (distance > farthest) [farthest, middle] = [distance, number];
  });
  const kept = new Set([0, middle]);
  const closed = [...loop, loop[0]];
  const ranges = [
    [0, middle],
    [middle, loop.length],
  ];
  while (ranges.length) {
    const [first, last] = ranges.pop();
    const [[x0, y0], [x1, y1]] = [closed[first], closed[last]];
    const length = Math.hypot(x1 - x0, y1 - y0) || 1;
    let worst = tolerance;
    let corner = -1;
    for (let number = first + 1; number < last; number++) {
      const [x, y] = closed[number];
      const distance = Math.abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) / length;
      if (distance > worst) [worst, corner] = [distance, number];
    }
    if (corner < 0) continue;
    kept.add(corner);
    ranges.push([first, corner], [corner, last]);
  }
  return loop.filter((_, number) => kept.has(number));
}
