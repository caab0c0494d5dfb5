/** What Annotate knows about an image: what was marked in it, or else what was found. */

import { store } from "./store.js";

/**
 * @param {string} id
 * @param {import("./marks.js").Marks} marks
 * @param {import("./transfer.js").Transfer} transfer
 * @param {number} threshold What is at least so probable is sure.
 * @param {boolean} open Whether the image is the one shown large.
 * @returns {Object} `points` and `regions`, each with its `kind`, and what its card says.
 */
export function contentsOf(id, marks, transfer, threshold, open) {
  const name = store.image(id)?.name ?? "";
  const base = { name, open, stale: false, points: [], regions: [] };
  const kindOf = (score) => (score >= threshold ? "sure" : "unsure");
  if (marks.isReference(id)) {
    const { points, regions } = marks.of(id);
    return {
      ...base,
      status: "marked",
      text: "marked",
      points: Object.entries(points).map(([named, [x, y]]) => ({
        name: named,
        x,
        y,
        kind: "marked",
      })),
      regions: regions.map((region) => ({ ...region, kind: "marked" })),
    };
  }
  const found = transfer.results.get(id);
  if (!found || found.error) return { ...base, status: "", text: found?.error ?? "" };
  const points = found.points
    .filter(({ x, y }) => x !== null && y !== null)
    .map((point) => ({ ...point, kind: kindOf(point.score) }));
  const regions = found.regions.map((region) => ({ ...region, kind: kindOf(region.score) }));
  const all = [...points, ...regions];
  const mean = all.reduce((sum, { score }) => sum + score, 0) / Math.max(1, all.length);
  return {
    ...base,
    points,
    regions,
    mean,
    used: found.used,
    stale: transfer.stale.has(id),
    status: kindOf(mean),
    text: `${Math.round(100 * mean)} %`,
  };
}

/** The line below the name of the image that is shown large: what it is, or what to do. */
export function statusLine({ points, regions, used }, isReference, names, { chosen, tool }) {
  if (isReference) return "Marked by you: a reference for all others";
  if (points.length + regions.length)
    return used?.length ? `Found from ${used.join(", ")}` : "Found";
  if (tool !== "point") return "Draw around the object, or paint it";
  const next = chosen ?? names[0];
  return next
    ? `Click the place of “${next}”`
    : "Click a place that every image has, such as the eye";
}

/** The line above the cards: how far the work is. */
export function summaryLine(marks, transfer, contents) {
  const { references } = marks;
  if (!references.length) return "Mark something in one image, and it appears in all others.";
  const found = [...transfer.results.values()]
    .filter(({ error }) => !error)
    .map(({ image }) => contents(image));
  const all = found.flatMap(({ points, regions }) => [...points, ...regions]);
  const marked = `${references.length} marked`;
  if (!all.length) return marked;
  const sure = all.filter(({ kind }) => kind === "sure").length;
  return `${marked}, ${found.length} found: ${sure} of ${all.length} marks are sure`;
}
