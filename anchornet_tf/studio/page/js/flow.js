/** Flows between images, read between their cells exactly as `Flow.transfer_points` does. */

import { getBinary } from "./api.js";
import { Memory } from "./memory.js";

const memory = new Memory(32);

/** Returns the flow from one image to another; asked for once. */
export function loadFlow(source, target, descriptor, matcher) {
  const key = `${source.id} ${target.id} ${descriptor} ${matcher}`;
  return memory.get(key, async () => {
    const { header, values } = await getBinary("/flow", {
      parameters: { source: source.id, target: target.id, descriptor, matcher },
    });
    return new Flow(header, values, source, target);
  });
}

/** Where every cell of the source lies in the target, and how sure that is. */
export class Flow {
  /**
   * @param {{rows: number, columns: number, interpolation?: string}} header
   * @param {Float32Array} values Target x, target y and confidence of each cell.
   * @param {{width: number, height: number}} source
   * @param {{width: number, height: number}} target
   */
  constructor(header, values, source, target) {
    this.rows = header.rows;
    this.columns = header.columns;
    this.hasProbabilities = header.has_probabilities ?? false;
    this.nearest = header.interpolation === "nearest";
    this.values = values;
    this.source = source;
    this.target = target;
  }

  /** Returns the pixel of the source at the centre of a cell. */
  centre(cell) {
    const row = Math.floor(cell / this.columns);
    const column = cell % this.columns;
    return {
      x: ((column + 0.5) * this.source.width) / this.columns - 0.5,
      y: ((row + 0.5) * this.source.height) / this.rows - 0.5,
    };
  }

  /** Returns where a cell lies in the target, or null where the matcher does not stand by it. */
  match(cell) {
    const [x, y, confidence] = this.values.subarray(cell * 3, cell * 3 + 3);
    return Number.isNaN(x) ? null : { x, y, confidence };
  }

  /**
   * Carries a point of the source to the target.
   * @returns {{x: number, y: number, confidence: number}|null} null where nothing is known.
   */
  at(x, y) {
    const { width, height } = this.source;
    const readX = Math.min(Math.max(x, 0), width - 1);
    const readY = Math.min(Math.max(y, 0), height - 1);
    const left = Math.floor(readX);
    const top = Math.floor(readY);
    const right = Math.min(left + 1, width - 1);
    const bottom = Math.min(top + 1, height - 1);
    const across = readX - left;
    const down = readY - top;
    let [moveX, moveY, confidence, weights] = [0, 0, 0, 0];
    for (const [column, row, weight] of [
      [left, top, (1 - across) * (1 - down)],
      [right, top, across * (1 - down)],
      [left, bottom, (1 - across) * down],
      [right, bottom, across * down],
    ]) {
      if (!weight) continue;
      const found = this.atPixel(column, row);
      if (!found) continue;
      moveX += weight * (found.x - column);
      moveY += weight * (found.y - row);
      confidence += weight * found.confidence;
      weights += weight;
    }
    if (!weights) return null;
    return {
      x: x + moveX / weights,
      y: y + moveY / weights,
      confidence: confidence / weights,
    };
  }

  /** The same for a whole pixel: the cells around it are mixed, then clamped to the target. */
  atPixel(column, row) {
    const { source, target, rows, columns, values } = this;
    const cellRow = Math.floor(((2 * row + 1) * rows) / (2 * source.height));
    const cellColumn = Math.floor(((2 * column + 1) * columns) / (2 * source.width));
    if (Number.isNaN(values[(cellRow * columns + cellColumn) * 3])) return null;
    const along = (pixel, cells, pixels) =>
      Math.min(Math.max(((pixel + 0.5) * cells) / pixels - 0.5, 0), cells - 1);
    const placeX = this.nearest ? cellColumn : along(column, columns, source.width);
    const placeY = this.nearest ? cellRow : along(row, rows, source.height);
    const left = Math.floor(placeX);
    const top = Math.floor(placeY);
    const right = Math.min(left + 1, columns - 1);
    const bottom = Math.min(top + 1, rows - 1);
    const across = placeX - left;
    const down = placeY - top;
    let [moveX, moveY, confidence, weights] = [0, 0, 0, 0];
    const add = (r, c, weight) => {
      const start = (r * columns + c) * 3;
      // Cells without an answer are left out, and the others weigh the more.
      if (!weight || Number.isNaN(values[start])) return;
      moveX += weight * (values[start] - (((c + 0.5) * source.width) / columns - 0.5));
      moveY += weight * (values[start + 1] - (((r + 0.5) * source.height) / rows - 0.5));
      confidence += weight * values[start + 2];
      weights += weight;
    };
    add(top, left, (1 - across) * (1 - down));
    add(top, right, across * (1 - down));
    add(bottom, left, (1 - across) * down);
    add(bottom, right, across * down);
    return {
      x: Math.min(Math.max(column + moveX / weights, 0), target.width - 1),
      y: Math.min(Math.max(row + moveY / weights, 0), target.height - 1),
      confidence: confidence / weights,
    };
  }
}
