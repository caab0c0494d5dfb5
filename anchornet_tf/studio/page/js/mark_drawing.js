/** How points, matches and outlines look: confidence is told by colour and by shape. */

import { INK, MARKED, SURE, UNSURE } from "./colours.js";

const RADIUS = 6;

function diamond(context, x, y, radius) {
  context.beginPath();
  context.moveTo(x, y - radius);
  context.lineTo(x + radius, y);
  context.lineTo(x, y + radius);
  context.lineTo(x - radius, y);
  context.closePath();
}

/**
 * Draws a point: a filled blue circle where it is sure, a hollow orange diamond where it is not,
 * a white circle with a dark dot where a person put it.
 * @param {CanvasRenderingContext2D} context
 * @param {{x: number, y: number}} place In the element.
 * @param {"marked"|"sure"|"unsure"} kind
 * @param {{radius?: number, chosen?: boolean}} [options]
 */
export function drawPoint(context, { x, y }, kind, { radius = RADIUS, chosen = false } = {}) {
  context.save();
  context.lineJoin = "round";
  if (chosen) {
    context.beginPath();
    context.arc(x, y, radius + 6, 0, 2 * Math.PI);
    context.fillStyle = "rgb(31 111 235 / 35%)";
    context.fill();
  }
  if (kind === "unsure") {
    diamond(context, x, y, radius + 1.5);
    context.strokeStyle = "#fff";
    context.lineWidth = 5;
    context.stroke();
    context.strokeStyle = UNSURE;
    context.lineWidth = 2.5;
    context.stroke();
  } else {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = kind === "sure" ? SURE : MARKED;
    context.strokeStyle = kind === "sure" ? "#fff" : INK;
    context.lineWidth = 2;
    context.fill();
    context.stroke();
    if (kind === "marked") {
      context.beginPath();
      context.arc(x, y, radius / 3, 0, 2 * Math.PI);
      context.fillStyle = INK;
      context.fill();
    }
  }
  context.restore();
}

/** Writes a name beside a point, on a dark ground so that it can be read on any picture. */
export function drawName(context, { x, y }, name, room) {
  context.save();
  context.font = "500 12px system-ui, sans-serif";
  const shown = name.length > 24 ? `${name.slice(0, 23)}…` : name;
  const width = context.measureText(shown).width + 10;
  // On the left of a point at the right border.
  const left = x + 11 + width > room ? x - 11 - width : x + 11;
  context.fillStyle = "rgb(16 21 28 / 78%)";
  context.beginPath();
  context.roundRect(left, y - 10, width, 20, 5);
  context.fill();
  context.fillStyle = "#fff";
  context.textBaseline = "middle";
  context.fillText(shown, left + 5, y + 0.5);
  context.restore();
}

/**
 * Draws the outlines of a region.
 * @param {(x: number, y: number) => {x: number, y: number}} toView
 */
export function drawRegion(context, polygons, toView, kind, { open = false } = {}) {
  const colour = kind === "unsure" ? UNSURE : SURE;
  context.save();
  context.beginPath();
  for (const polygon of polygons) {
    polygon.forEach(([x, y], number) => {
      const place = toView(x, y);
      if (number) context.lineTo(place.x, place.y);
      else context.moveTo(place.x, place.y);
    });
    if (!open) context.closePath();
  }
  if (!open) {
    context.fillStyle = `${colour}40`;
    context.fill("evenodd");
  }
  context.lineJoin = "round";
  context.strokeStyle = "rgb(255 255 255 / 85%)";
  context.lineWidth = 4;
  context.stroke();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  if (kind === "unsure") context.setLineDash([6, 4]);
  context.stroke();
  context.restore();
}
