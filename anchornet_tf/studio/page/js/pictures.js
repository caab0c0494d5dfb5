/** Pictures of images, decoded once and kept for a while. */

import { addressWithToken } from "./api.js";
import { Memory } from "./memory.js";
import { withName } from "./messages.js";

const memory = new Memory(40);

/** Returns the address of a picture whose long side is at most `side` pixels. */
export function pictureAddress(image, side) {
  return addressWithToken(`/images/${image.id}/picture`, { side });
}

/** Returns the decoded picture of any address of the server. */
export function loadAddress(source) {
  return memory.get(source, async () => {
    const picture = new Image();
    picture.src = source;
    try {
      await picture.decode();
    } catch {
      throw new Error("A picture could not be loaded. Is the studio still running?");
    }
    return picture;
  });
}

/** Returns the decoded picture of an image. */
export async function loadPicture(image, side = 1024) {
  if (image.error) throw new Error(withName(image.name, image.error));
  return loadAddress(pictureAddress(image, side));
}
