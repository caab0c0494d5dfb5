/** How long the page takes from a mouse move to the heat map that answers it. */

const MOST = 2000;
const times = [];

/** Notes one answer, in milliseconds; the oldest are forgotten. */
export function note(milliseconds) {
  times.push(milliseconds);
  if (times.length > MOST) times.shift();
}

/** Forgets everything, for a new measurement. */
export function clear() {
  times.length = 0;
}

/** @returns {{count: number, median: number|null, percentile95: number|null}} in milliseconds. */
export function summary() {
  const sorted = Float64Array.from(times).sort();
  const at = (share) =>
    sorted.length ? sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)] : null;
  return { count: sorted.length, median: at(0.5), percentile95: at(0.95) };
}
