/** Descriptors of images, and how alike their cells are. Nothing is asked per mouse move. */

import { getBinary } from "./api.js";
import { Memory } from "./memory.js";

const memory = new Memory(24);

/**
 * A grid of unit vectors in bytes.
 * @typedef {{rows: number, columns: number, depth: number, scale: number, values: Int8Array}} Grid
 */

/** Returns the grid of an image; asked for once. */
export function loadFeatures(image, descriptor) {
  return memory.get(`${image} ${descriptor}`, async () => {
    const { header, values } = await getBinary(`/features/${image}`, {
      parameters: { descriptor },
    });
    return { ...header, values };
  });
}

/** Returns the number of the cell that a pixel of the image lies in. */
export function cellAt(grid, size, x, y) {
  const along = (place, pixels, cells) =>
    Math.min(Math.max(Math.floor(((place + 0.5) * cells) / pixels), 0), cells - 1);
  return along(y, size.height, grid.rows) * grid.columns + along(x, size.width, grid.columns);
}

/** Returns the pixel at the centre of a cell. */
export function centreOf(grid, size, cell) {
  const row = Math.floor(cell / grid.columns);
  const column = cell % grid.columns;
  return {
    x: ((column + 0.5) * size.width) / grid.columns - 0.5,
    y: ((row + 0.5) * size.height) / grid.rows - 0.5,
  };
}

/**
 * Fills `result` with the likeness of one cell of `source` to every cell of `target`.
 *
 * Products of bytes are summed as whole numbers, which compilers turn into quick code and which
 * gives the same on every machine.
 *
 * @param {Grid} source
 * @param {number} cell
 * @param {Grid} target
 * @param {Float32Array} result One number for each cell of the target.
 * @returns {{best: number, lowest: number, highest: number}} the best cell and the range.
 */
export function likeness(source, cell, target, result) {
  const depth = target.depth;
  const query = source.values.subarray(cell * depth, (cell + 1) * depth);
  const values = target.values;
  const scale = source.scale * target.scale;
  let best = 0;
  let highest = -Infinity;
  let lowest = Infinity;
  for (let other = 0, start = 0; other < result.length; other++, start += depth) {
    let sum = 0;
    for (let channel = 0; channel < depth; channel++) {
      sum = (sum + Math.imul(query[channel], values[start + channel])) | 0;
    }
    const value = sum * scale;
    result[other] = value;
    if (value > highest) {
      highest = value;
      best = other;
    }
    if (value < lowest) lowest = value;
  }
  return { best, lowest, highest };
}
