/** How strongly the filters of a class fire in an image. */

import { getBinary } from "./api.js";
import { Memory } from "./memory.js";

const memory = new Memory(64);

/** Returns `{rows, columns, filters, scale, strongest, values}`; asked for once. */
export function loadResponses(image, className) {
  return memory.get(`${image} ${className}`, async () => {
    const { header, values } = await getBinary(`/responses/${image}`, {
      parameters: { class: className },
    });
    return { ...header, values };
  });
}

/** Returns the map of one filter, in its own units. */
export function mapOf(responses, filter) {
  const { rows, columns, filters, scale, values } = responses;
  const map = new Float32Array(rows * columns);
  for (let cell = 0; cell < map.length; cell++) map[cell] = values[cell * filters + filter] * scale;
  return map;
}

/** Returns the filters that fire most strongly in a cell, the strongest first. */
export function strongestAt(responses, cell, count) {
  const { filters, scale, values } = responses;
  return Array.from({ length: filters }, (_, filter) => ({
    filter,
    strength: values[cell * filters + filter] * scale,
  }))
    .filter(({ strength }) => strength > 0)
    .sort((one, other) => other.strength - one.strength)
    .slice(0, count);
}
