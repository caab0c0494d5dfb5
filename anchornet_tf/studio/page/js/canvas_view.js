/**
 * A picture that fills its place as far as its shape allows, with a layer above it to draw on.
 *
 * The picture and what is drawn over it have canvases of their own: a mouse move draws the upper
 * one alone. Points are in pixels of the original image, centres at whole numbers.
 */

import { element } from "./dom.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const LARGEST_ZOOM = 16;

export class CanvasView {
  image = null;
  picture = null;
  /** Draws the upper layer: `(context, view) => void`. */
  paint = () => {};
  /** Draws the picture otherwise than as it is, for blends. */
  paintPicture = null;
  cursor = null;
  #zoom = 1;
  #origin = { x: 0, y: 0 };

  /**
   * @param {HTMLElement} host The element to fill.
   * @param {string} label What it is, for screen readers.
   * @param {Object} [handlers] `move`, `leave`, `press`, `drag`, `release`: `(point, event)`;
   *     `key(event, point)` returns true for keys that it took; `cursor(point, event)` for arrows.
   * @param {{zoomable?: boolean}} [options]
   */
  constructor(host, label, handlers = {}, { zoomable = false } = {}) {
    this.host = host;
    this.handlers = handlers;
    this.lower = element("canvas.layer", { "aria-hidden": "true" });
    // What only shows something needs no focus, and lets a finger scroll the page.
    const active = Boolean(handlers.move || handlers.press);
    this.upper = element(`canvas.layer.upper${active ? ".active" : ""}`, {
      tabindex: active ? "0" : null,
      role: active ? "application" : "img",
      "aria-label": label,
    });
    this.empty = element("p.stage-empty", { text: "" });
    host.classList.add("stage");
    host.append(this.lower, this.upper, this.empty);
    new ResizeObserver(() => this.#resize()).observe(host);
    this.#listen(zoomable);
  }

  /** Shows a picture, or a line of text where there is none. */
  show(image, picture, message = "") {
    if (image?.id !== this.image?.id) {
      this.cursor = null;
      this.#zoom = 1;
    }
    this.image = image;
    this.picture = picture;
    this.empty.textContent = picture ? "" : message;
    this.draw();
  }

  /** Pixels of the window for each pixel of the image. */
  get scale() {
    if (!this.image) return 1;
    const { clientWidth, clientHeight } = this.host;
    const fit = Math.min(clientWidth / this.image.width, clientHeight / this.image.height);
    return fit * this.#zoom;
  }

  get #corner() {
    const { clientWidth, clientHeight } = this.host;
    const spare = (room, side, origin) =>
      side * this.scale <= room
        ? (room - side * this.scale) / 2
        : Math.min(0, Math.max(room - side * this.scale, origin));
    return {
      x: spare(clientWidth, this.image.width, this.#origin.x),
      y: spare(clientHeight, this.image.height, this.#origin.y),
    };
  }

  /** Where a point of the image is in the element. */
  toView(x, y) {
    const corner = this.#corner;
    return { x: corner.x + (x + 0.5) * this.scale, y: corner.y + (y + 0.5) * this.scale };
  }

  /** The point of the image under a place of the window, at most on its border. */
  toImage(clientX, clientY) {
    const box = this.upper.getBoundingClientRect();
    const corner = this.#corner;
    const x = (clientX - box.left - corner.x) / this.scale - 0.5;
    const y = (clientY - box.top - corner.y) / this.scale - 0.5;
    const { width, height } = this.image;
    const inside = x >= -0.5 && y >= -0.5 && x < width - 0.5 && y < height - 0.5;
    return { ...this.clamp(x, y), inside };
  }

  /** The nearest point of the image. */
  clamp(x, y) {
    return {
      x: Math.min(Math.max(x, 0), this.image.width - 1),
      y: Math.min(Math.max(y, 0), this.image.height - 1),
    };
  }

  /** Where the picture is in the element: left, top, width, height. */
  get frame() {
    const { x, y } = this.#corner;
    return [x, y, this.image.width * this.scale, this.image.height * this.scale];
  }

  draw() {
    const context = this.#clear(this.lower);
    if (this.image && this.picture) {
      // Pixels that are seen as squares are drawn as squares.
      context.imageSmoothingEnabled = this.scale < 4;
      context.imageSmoothingQuality = "high";
      if (this.paintPicture) this.paintPicture(context, this);
      else context.drawImage(this.picture, ...this.frame);
    }
    this.drawUpper();
  }

  drawUpper() {
    const context = this.#clear(this.upper);
    if (!this.image || !this.picture) return;
    this.paint(context, this);
    if (this.cursor) this.#drawCursor(context);
  }

  /** Zooms about a point of the element; 1 shows the whole image. */
  zoom(factor, place) {
    if (!this.image) return;
    const { clientWidth, clientHeight } = this.host;
    const { x, y } = place ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const corner = this.#corner;
    const before = this.scale;
    this.#zoom = Math.min(Math.max(this.#zoom * factor, 1), LARGEST_ZOOM);
    const ratio = this.scale / before;
    this.#origin = { x: x - (x - corner.x) * ratio, y: y - (y - corner.y) * ratio };
    this.draw();
  }

  #clear(canvas) {
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.scale(devicePixelRatio, devicePixelRatio);
    return context;
  }

  #resize() {
    const { clientWidth, clientHeight } = this.host;
    for (const canvas of [this.lower, this.upper]) {
      canvas.width = Math.max(1, Math.round(clientWidth * devicePixelRatio));
      canvas.height = Math.max(1, Math.round(clientHeight * devicePixelRatio));
    }
    this.draw();
    this.handlers.resize?.();
  }

  #drawCursor(context) {
    const { x, y } = this.toView(this.cursor.x, this.cursor.y);
    for (const [colour, width] of [
      ["#000", 4],
      ["#fff", 2],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      for (const [dx, dy] of Object.values(ARROWS)) {
        context.moveTo(x + dx * 5, y + dy * 5);
        context.lineTo(x + dx * 13, y + dy * 13);
      }
      context.stroke();
    }
  }

  #listen(zoomable) {
    const { upper, handlers } = this;
    const send = (name) => (event) => {
      if (this.image && this.picture)
        handlers[name]?.(this.toImage(event.clientX, event.clientY), event);
    };
    upper.addEventListener("pointermove", (event) => {
      this.cursor = null;
      send(upper.hasPointerCapture(event.pointerId) && handlers.drag ? "drag" : "move")(event);
    });
    upper.addEventListener("pointerleave", send("leave"));
    upper.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      if (handlers.press) upper.setPointerCapture(event.pointerId);
      send("press")(event);
      if (event.pointerType === "touch") send("move")(event);
    });
    upper.addEventListener("pointerup", send("release"));
    upper.addEventListener("pointercancel", send("release"));
    upper.addEventListener("keydown", (event) => this.#press(event, zoomable));
    if (!zoomable) return;
    upper.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const box = upper.getBoundingClientRect();
        const place = { x: event.clientX - box.left, y: event.clientY - box.top };
        this.zoom(Math.exp(-event.deltaY / 300), place);
      },
      { passive: false },
    );
  }

  #press(event, zoomable) {
    if (!this.image || !this.picture) return;
    const arrow = ARROWS[event.key];
    if (this.handlers.key?.(event, this.cursor)) event.preventDefault();
    else if (arrow && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.#step(arrow, event);
    } else if (zoomable && "+=-0".includes(event.key) && !event.ctrlKey) {
      this.zoom({ "-": 1 / 1.5, 0: 0 }[event.key] ?? 1.5);
    }
  }

  /** Arrow keys go about a fiftieth of the image, and pixel by pixel with Shift. */
  #step([dx, dy], event) {
    const { width, height } = this.image;
    const step = event.shiftKey ? 1 : Math.max(1, Math.round(Math.max(width, height) / 50));
    const from = this.cursor ?? { x: Math.floor(width / 2), y: Math.floor(height / 2) };
    this.cursor = this.clamp(from.x + dx * step, from.y + dy * step);
    this.handlers.cursor?.(this.cursor, event);
    this.drawUpper();
  }
}
