/** Numbers on their way into the network and out of it. */

/** Returns pixels without their opacity. */
export function toRgb(rgba) {
  const rgb = new Uint8Array((rgba.length / 4) * 3);
  for (let from = 0, to = 0; from < rgba.length; from += 4, to += 3) {
    rgb[to] = rgba[from];
    rgb[to + 1] = rgba[from + 1];
    rgb[to + 2] = rgba[from + 2];
  }
  return rgb;
}

/**
 * Returns vectors of length one as bytes, whose products are likenesses.
 * @param {Float32Array} values Vectors of `depth` numbers, one after the other.
 * @returns {{values: Int8Array, scale: number}} what a byte has to be multiplied with.
 */
export function toBytes(values, depth) {
  const units = new Float32Array(values.length);
  let most = 0;
  for (let start = 0; start < values.length; start += depth) {
    let sum = 0;
    for (let index = start; index < start + depth; index++) sum += values[index] ** 2;
    const factor = sum > 0 ? 1 / Math.sqrt(sum) : 0;
    for (let index = start; index < start + depth; index++) {
      units[index] = values[index] * factor;
      most = Math.max(most, Math.abs(units[index]));
    }
  }
  const scale = most / 127 || 1;
  const bytes = new Int8Array(values.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = Math.round(units[index] / scale);
  return { values: bytes, scale };
}
