/** The images of the page: those that came with it, and those that a person dropped. */

// As the package does: a network sees a few hundred pixels, so more need not be in memory.
const MOST_SIDE = 2048;

export class ImageShelf {
  #entries = new Map();
  #count = 0;

  /** @param {{name: string, file: string, width: number, height: number}[]} examples */
  constructor(examples) {
    for (const { file, ...image } of examples) this.#put({ ...image, source: "example" }, file);
  }

  #put(image, address) {
    const id = `i${++this.#count}`;
    this.#entries.set(id, { image: { ...image, id }, address });
    return this.#entries.get(id).image;
  }

  images() {
    return [...this.#entries.values()].map(({ image }) => image);
  }

  /** Returns where the browser finds the picture of an image. */
  address(id) {
    return this.#entries.get(id).address;
  }

  /** Takes a file that was dropped. Returns the image. */
  async add(file) {
    let bitmap;
    try {
      bitmap = await createImageBitmap(file);
    } catch {
      throw new Error(`Expected an image that this browser can read. Received: ${file.name}`);
    }
    const { width, height } = bitmap;
    bitmap.close();
    if (Math.min(width, height) < 2) {
      throw new Error(`Expected 2 pixels or more on each side. Received: ${width} × ${height}`);
    }
    const image = { name: file.name, width, height, source: "upload" };
    return this.#put(image, URL.createObjectURL(file));
  }

  remove(id) {
    URL.revokeObjectURL(this.address(id));
    this.#entries.delete(id);
  }

  /**
   * Returns the pixels of an image, on white where it is transparent, as the package reads it.
   * @returns {Promise<{rgba: Uint8ClampedArray, width: number, height: number, size: number[]}>}
   *     with the height and width of the image itself in `size`.
   */
  async pixels(id) {
    const { image, address } = this.#entries.get(id);
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`The image ${image.name} could not be loaded.`);
    // Colours are taken as they are written in the file, as the package takes them.
    const bitmap = await createImageBitmap(await answer.blob(), { colorSpaceConversion: "none" });
    const scale = Math.min(1, MOST_SIDE / Math.max(bitmap.width, bitmap.height));
    const width = Math.max(1, Math.round(bitmap.width * scale));
    const height = Math.max(1, Math.round(bitmap.height * scale));
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, width, height);
    const size = [bitmap.height, bitmap.width];
    bitmap.close();
    return { rgba: context.getImageData(0, 0, width, height).data, width, height, size };
  }
}
