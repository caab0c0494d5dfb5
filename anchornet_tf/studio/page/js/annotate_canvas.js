/** The large view of Annotate: points are placed and dragged, regions drawn and painted. */

import { byId } from "./dom.js";
import { CanvasView } from "./canvas_view.js";
import { drawName, drawPoint, drawRegion } from "./mark_drawing.js";
import { RegionTools } from "./region_tools.js";

// How near a press must be to a point, in pixels of the window: fingers are wider than arrows.
const REACH = { mouse: 12, pen: 16, touch: 26 };

export class AnnotateCanvas {
  tool = "point";
  chosen = null;
  #drag = null;

  /**
   * @param {HTMLElement} host
   * @param {Object} actions `points()`, `regions()`, `place(x, y)`, `move(name, x, y)`,
   *     `remove(name)`, `choose(name)`, `addPolygon(polygon)`, `setPolygons(polygons)`.
   */
  constructor(host, actions) {
    this.actions = actions;
    this.view = new CanvasView(
      host,
      "Image to annotate",
      {
        press: (point, event) => this.#press(point, event),
        drag: (point, event) => this.#dragTo(point, event),
        release: (point, event) => this.#release(point, event),
        key: (event, cursor) => this.#key(event, cursor),
      },
      { zoomable: true },
    );
    this.view.paint = (context, view) => this.#paint(context, view);
    this.regions = new RegionTools(this.view, actions);
  }

  draw() {
    this.view.drawUpper();
  }

  setTool(tool) {
    this.tool = tool;
    this.regions.reset();
    this.view.upper.dataset.tool = tool;
    this.draw();
  }

  #hit(event) {
    const box = this.view.upper.getBoundingClientRect();
    let nearest = null;
    let least = REACH[event.pointerType] ?? REACH.mouse;
    for (const point of this.actions.points()) {
      const place = this.view.toView(point.x, point.y);
      const distance = Math.hypot(
        place.x - (event.clientX - box.left),
        place.y - (event.clientY - box.top),
      );
      if (distance <= least) [least, nearest] = [distance, point];
    }
    return nearest;
  }

  #press(point, event) {
    if (this.tool !== "point") return this.regions.press(this.tool, point, event);
    const hit = this.#hit(event);
    if (hit) {
      this.#drag = {
        name: hit.name,
        x: hit.x,
        y: hit.y,
        moved: false,
        offX: hit.x - point.x,
        offY: hit.y - point.y,
      };
      this.actions.choose(hit.name);
    } else if (point.inside) {
      this.actions.place(point.x, point.y);
    }
    return this.draw();
  }

  #dragTo(point, event) {
    if (this.tool !== "point") return this.regions.drag(this.tool, point, event);
    if (!this.#drag) return undefined;
    Object.assign(
      this.#drag,
      this.view.clamp(point.x + this.#drag.offX, point.y + this.#drag.offY),
    );
    this.#drag.moved = true;
    return this.draw();
  }

  #release(point, event) {
    if (this.tool !== "point") return this.regions.release(this.tool, point, event);
    const drag = this.#drag;
    this.#drag = null;
    // One drag is one step to undo.
    if (drag?.moved) this.actions.move(drag.name, drag.x, drag.y);
    return this.draw();
  }

  #key(event, cursor) {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (this.tool !== "point" && this.regions.key(this.tool, event, cursor)) return true;
    if (event.key === "Escape" && this.chosen) {
      this.actions.choose(null);
      return true;
    }
    if ((event.key === "Delete" || event.key === "Backspace") && this.chosen) {
      this.actions.remove(this.chosen);
      return true;
    }
    if ((event.key === "Enter" || event.key === " ") && cursor && this.tool === "point") {
      this.actions.place(cursor.x, cursor.y);
      return true;
    }
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[
      event.key
    ];
    const point = this.actions.points().find(({ name }) => name === this.chosen);
    if (!step || !point || !plain || this.tool !== "point") return false;
    const far = event.shiftKey ? 10 : 1;
    const moved = this.view.clamp(point.x + step[0] * far, point.y + step[1] * far);
    this.actions.move(point.name, moved.x, moved.y);
    return true;
  }

  #paint(context, view) {
    const toView = (x, y) => view.toView(x, y);
    for (const { polygons, kind } of this.actions.regions()) {
      drawRegion(context, polygons, toView, kind);
    }
    this.regions.paint(context);
    const names = byId("annotate-names").checked;
    const points = this.actions
      .points()
      .map((point) =>
        point.name === this.#drag?.name ? { ...point, ...this.#drag, kind: "marked" } : point,
      );
    // Names lie below all points, so that none hides a point.
    if (names) {
      for (const point of points) {
        drawName(context, view.toView(point.x, point.y), point.name, view.host.clientWidth);
      }
    }
    for (const point of points) {
      const chosen = point.name === this.chosen;
      drawPoint(context, view.toView(point.x, point.y), point.kind, { chosen, radius: 7 });
    }
  }
}
