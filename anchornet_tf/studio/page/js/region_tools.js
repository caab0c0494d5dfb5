/** Outlines drawn corner by corner or in one go, and masks that are painted. */

import { byId } from "./dom.js";
import { drawRegion } from "./mark_drawing.js";
import { PaintedMask, simplify } from "./outlines.js";
import { SURE } from "./colours.js";

const STEP = 5;
const CLOSE = 12;

export class RegionTools {
  #corners = [];
  #dragged = 0;
  #mask = null;
  #last = null;

  constructor(view, actions) {
    this.view = view;
    this.actions = actions;
  }

  reset() {
    this.#corners = [];
    this.#mask = null;
    this.#last = null;
  }

  press(tool, point) {
    if (tool !== "outline") {
      this.#mask = new PaintedMask(this.view.image);
      this.#mask.add(this.actions.chosenPolygons());
      this.#last = [point.x, point.y];
      return this.drag(tool, point);
    }
    this.#dragged = 0;
    if (this.#corners.length >= 3 && this.#distance(this.#corners[0], point) < CLOSE)
      return this.close();
    this.#corners.push([point.x, point.y]);
    return this.view.drawUpper();
  }

  drag(tool, point) {
    const here = [point.x, point.y];
    if (tool === "outline") {
      if (this.#corners.length && this.#distance(this.#corners.at(-1), point) >= STEP) {
        this.#corners.push(here);
        this.#dragged++;
      }
    } else if (this.#mask) {
      const width = Number(byId("brush-size").value) / this.view.scale;
      this.#mask.stroke(this.#last, here, width, tool === "erase");
      this.#last = here;
    }
    this.view.drawUpper();
  }

  release(tool) {
    if (tool === "outline") {
      // A line drawn in one go is an outline; single clicks are its corners.
      if (this.#dragged > 6) this.close();
    } else if (this.#mask) {
      const polygons = this.#mask.polygons();
      this.#mask = null;
      this.actions.setPolygons(polygons);
    }
    this.view.drawUpper();
  }

  /** Keys: Enter places a corner at the cursor or closes the outline, Escape drops it. */
  key(tool, event, cursor) {
    if (event.key === "Escape" && (this.#corners.length || this.#mask)) {
      this.reset();
      this.view.drawUpper();
      return true;
    }
    if (event.key === "Backspace" && this.#corners.length) {
      this.#corners.pop();
      this.view.drawUpper();
      return true;
    }
    if (event.key !== "Enter" || tool !== "outline") return false;
    if (cursor && !(this.#corners.length && this.#distance(this.#corners.at(-1), cursor) < 1)) {
      this.press(tool, cursor);
    } else this.close();
    return true;
  }

  close() {
    const corners = simplify(this.#corners, 0.5 / this.view.scale);
    this.reset();
    if (corners.length >= 3) {
      this.actions.addPolygon(
        corners.map((corner) => corner.map((value) => Math.round(value * 10) / 10)),
      );
    }
    this.view.drawUpper();
  }

  #distance([x, y], point) {
    return Math.hypot(x - point.x, y - point.y) * this.view.scale;
  }

  paint(context) {
    const toView = (x, y) => this.view.toView(x, y);
    if (this.#corners.length) {
      drawRegion(context, [this.#corners], toView, "marked", { open: true });
      for (const [x, y] of this.#corners.slice(0, 1)) {
        const place = toView(x, y);
        context.beginPath();
        context.arc(place.x, place.y, 5, 0, 2 * Math.PI);
        context.fillStyle = SURE;
        context.fill();
      }
    }
    if (this.#mask) {
      context.globalAlpha = 0.45;
      context.drawImage(this.#mask.canvas, ...this.view.frame);
      context.globalAlpha = 1;
    }
  }
}
