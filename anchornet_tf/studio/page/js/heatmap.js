/** Draws numbers on a grid as colours: small, and scaled up smoothly by the canvas. */

import { VIRIDIS_TABLE } from "./colours.js";

/** A small canvas that is drawn again and again. */
export class HeatMap {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.pixels = null;
  }

  /**
   * Colours the values.
   * @param {Float32Array|Uint8Array} values One for each cell.
   * @param {number} columns
   * @param {number} low The value that gets the first colour, and is nearly transparent.
   * @param {number} high The value that gets the last colour.
   * @param {{least?: number, most?: number, power?: number}} [opacity] From low to high.
   */
  fill(values, columns, low, high, { least = 0.25, most = 0.85, power = 1 } = {}) {
    const rows = values.length / columns;
    const { canvas, context } = this;
    if (canvas.width !== columns || canvas.height !== rows || !this.pixels) {
      canvas.width = columns;
      canvas.height = rows;
      this.pixels = context.createImageData(columns, rows);
    }
    const bytes = this.pixels.data;
    const factor = high > low ? 1 / (high - low) : 0;
    for (let cell = 0, start = 0; cell < values.length; cell++, start += 4) {
      const share = (values[cell] - low) * factor;
      // Not a number stays 0: nothing is known there, and nothing is drawn.
      const value = share > 0 ? (share < 1 ? share : 1) : 0;
      const shown = power === 1 ? value : value ** power;
      const colour = ((shown * 255) | 0) * 3;
      bytes[start] = VIRIDIS_TABLE[colour];
      bytes[start + 1] = VIRIDIS_TABLE[colour + 1];
      bytes[start + 2] = VIRIDIS_TABLE[colour + 2];
      bytes[start + 3] = share === share ? 255 * (least + (most - least) * shown) : 0;
    }
    context.putImageData(this.pixels, 0, 0);
  }

  /** Draws the map into a frame: left, top, width, height. */
  drawInto(context, frame) {
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = "low";
    context.drawImage(this.canvas, ...frame);
  }
}
