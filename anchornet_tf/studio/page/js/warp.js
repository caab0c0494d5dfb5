/** Pulls one image into the frame of another along a flow, as `Flow.warp` does. */

const LONG_SIDE = 480;

/** Returns the pixels of a picture at a size. */
function pixelsOf(picture, width, height) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

/** Returns the size of a copy whose long side is at most `LONG_SIDE`. */
function smaller({ width, height }) {
  const scale = Math.min(1, LONG_SIDE / Math.max(width, height));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

/**
 * @param {import("./flow.js").Flow} flow From the image whose frame is filled to the pulled one.
 * @param {CanvasImageSource} picture The picture that is pulled.
 * @returns {OffscreenCanvas} transparent where nothing is known.
 */
export function warp(flow, picture) {
  const [width, height] = smaller(flow.source);
  const [fromWidth, fromHeight] = smaller(flow.target);
  const from = pixelsOf(picture, fromWidth, fromHeight).data;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  const made = context.createImageData(width, height);
  const scaleX = fromWidth / flow.target.width;
  const scaleY = fromHeight / flow.target.height;
  for (let row = 0, start = 0; row < height; row++) {
    const y = ((row + 0.5) * flow.source.height) / height - 0.5;
    for (let column = 0; column < width; column++, start += 4) {
      const x = ((column + 0.5) * flow.source.width) / width - 0.5;
      const found = flow.atPixel(Math.max(0, Math.round(x)), Math.max(0, Math.round(y)));
      if (!found) continue;
      // What lies between the whole pixel and the place itself moves along.
      read(
        from,
        fromWidth,
        fromHeight,
        (found.x + x - Math.max(0, Math.round(x)) + 0.5) * scaleX - 0.5,
        (found.y + y - Math.max(0, Math.round(y)) + 0.5) * scaleY - 0.5,
        made.data,
        start,
      );
    }
  }
  context.putImageData(made, 0, 0);
  return canvas;
}

/** Reads a picture between its pixels. */
function read(bytes, width, height, x, y, result, start) {
  const atX = Math.min(Math.max(x, 0), width - 1);
  const atY = Math.min(Math.max(y, 0), height - 1);
  const left = Math.floor(atX);
  const top = Math.floor(atY);
  const right = Math.min(left + 1, width - 1);
  const bottom = Math.min(top + 1, height - 1);
  const across = atX - left;
  const down = atY - top;
  for (let channel = 0; channel < 3; channel++) {
    const value = (r, c) => bytes[(r * width + c) * 4 + channel];
    const upper = value(top, left) * (1 - across) + value(top, right) * across;
    const lower = value(bottom, left) * (1 - across) + value(bottom, right) * across;
    result[start + channel] = upper * (1 - down) + lower * down;
  }
  result[start + 3] = 255;
}
