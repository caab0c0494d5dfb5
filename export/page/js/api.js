/**
 * Answers in the page what a studio's server would answer: there is no server here.
 *
 * The other parts of the page are those of the studio. They ask by the same addresses, and what
 * they get comes from a worker that runs the network.
 */

import { Engine } from "./engine.js";
import { ImageShelf } from "./image_shelf.js";

const NO_LIMIT = { upload_bytes: 0 };

const about = await (await fetch("about.json")).json();
const shelf = new ImageShelf(about.images);

/** What runs the network; its `times` tell how long everything took. */
export const engine = new Engine((id) => shelf.pixels(id), about.has_probabilities);

function state() {
  return {
    images: shelf.images(),
    default: { descriptor: about.model, matcher: about.matcher },
    limits: NO_LIMIT,
    version: about.anchornet_tf,
    model: about.model,
  };
}

/** Nothing is secret in a folder of files; the name is the studio's. */
export function addressWithToken(path) {
  const found = /^\/images\/([^/]+)\/picture$/.exec(path);
  if (!found) throw new Error(`Expected the picture of an image. Received: ${path}`);
  return shelf.address(found[1]);
}

export async function getJson(path) {
  if (path !== "/state") throw new Error(`Expected /state. Received: ${path}`);
  return state();
}

export async function getBinary(path, { parameters }) {
  if (path === "/flow") {
    const { source, target } = parameters;
    return engine.match(source, target);
  }
  const found = /^\/features\/(.+)$/.exec(path);
  if (!found) throw new Error(`Expected features or a flow. Received: ${path}`);
  return engine.describe(found[1]);
}

export const sendFile = (path, file) => shelf.add(file);

export async function remove(path) {
  shelf.remove(path.split("/").at(-1));
}
