/** Chooses matches to draw: sure ones, spread as widely over the object as they can be. */

/**
 * @param {import("./flow.js").Flow} flow
 * @param {number} count The most matches.
 * @param {number} least The least confidence.
 * @returns {Array<{from: {x, y}, to: {x, y}, confidence: number}>}
 */
export function spreadMatches(flow, count, least) {
  const candidates = [];
  for (let cell = 0; cell < flow.rows * flow.columns; cell++) {
    const to = flow.match(cell);
    if (to && to.confidence >= least) {
      candidates.push({ from: flow.centre(cell), to, confidence: to.confidence });
    }
  }
  if (!candidates.length) return [];
  // The surest first; then always the one that is farthest from all that are chosen. Sure matches
  // seem a little farther than they are.
  candidates.sort((one, other) => other.confidence - one.confidence);
  const distances = new Float64Array(candidates.length).fill(Infinity);
  const chosen = [];
  let next = 0;
  while (chosen.length < count) {
    const taken = candidates[next];
    chosen.push(taken);
    let farthest = 0;
    next = -1;
    for (let number = 0; number < candidates.length; number++) {
      const { from, confidence } = candidates[number];
      const distance = Math.hypot(from.x - taken.from.x, from.y - taken.from.y);
      distances[number] = Math.min(distances[number], distance);
      const value = distances[number] * (0.5 + confidence);
      if (distances[number] > 0 && value > farthest) {
        farthest = value;
        next = number;
      }
    }
    if (next < 0) break;
  }
  return chosen;
}
