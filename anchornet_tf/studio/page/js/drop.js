/** Files that are dropped, pasted or chosen become images; others give a readable line. */

import { byId } from "./dom.js";
import { showError, showNotice, withName } from "./messages.js";
import { store } from "./store.js";

/**
 * Sends files to the server, one after the other.
 * @param {Iterable<File>} files
 * @returns {Promise<Object[]>} the images.
 */
async function add(files) {
  const images = [];
  for (const file of files) {
    try {
      const limit = store.state.limits.upload_bytes;
      if (limit && file.size > limit) {
        throw new Error(
          `An image must be smaller than ${Math.round(limit / 2 ** 20)} MB. Received: ${file.name}`,
        );
      }
      images.push(await store.upload(file));
    } catch (error) {
      showError(withName(file.name, error.message));
    }
  }
  return images;
}

/** @param {(images: Object[], side: string|null) => void} added What to do with new images. */
export function acceptFiles(added, picked) {
  const zone = byId("drop-zone");
  const input = byId("add-input");
  let depth = 0;
  const show = (shown) => zone.classList.toggle("shown", shown);
  const sideUnder = (event) => event.target.closest?.("[data-side]")?.dataset.side ?? null;
  const take = async (files, side) => {
    if (!files.length) return;
    byId("add-button").setAttribute("aria-busy", "true");
    const images = await add(files);
    byId("add-button").removeAttribute("aria-busy");
    if (!images.length) return;
    if (images.length > 2) showNotice(`${images.length} images added`);
    added(images, side);
  };
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    depth++;
    show(true);
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (!depth) show(false);
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    show(false);
    const id = event.dataTransfer.getData("text/x-studio-image");
    if (id) picked(id, sideUnder(event));
    else take([...event.dataTransfer.files], sideUnder(event));
  });
  addEventListener("paste", (event) => take([...(event.clipboardData?.files ?? [])], null));
  byId("add-button").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await take([...input.files], null);
    input.value = "";
  });
}
