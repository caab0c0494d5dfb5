/** Export and import of annotations. */

import { byId, element } from "./dom.js";
import { postForFile, sendFile } from "./api.js";
import { showError, showNotice } from "./messages.js";

const NAMES = { coco: "transferred.json", labelme: "transferred.zip", csv: "transferred.csv" };

/** Hands a file to the browser as a download. */
function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * @param {import("./marks.js").Marks} marks
 * @param {() => Object} request The fields of a transfer job.
 */
export function connectFiles(marks, request) {
  const menu = byId("export-menu");
  for (const button of menu.querySelectorAll("[data-format]")) {
    button.addEventListener("click", async () => {
      menu.open = false;
      if (!marks.references.length)
        return showError("Mark a point or an outline first: there is nothing to export yet.");
      menu.setAttribute("aria-busy", "true");
      try {
        const { format } = button.dataset;
        const { blob, name } = await postForFile("/annotations/export", { format, ...request() });
        save(blob, name ?? NAMES[format]);
        showNotice(`Saved ${name ?? NAMES[format]}`);
      } catch (error) {
        showError(error);
      }
      return menu.removeAttribute("aria-busy");
    });
  }
  const input = byId("import-input");
  byId("import-button").addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const [file] = input.files;
    input.value = "";
    if (!file) return;
    try {
      const { references, missing } = await sendFile("/annotations/import", file);
      if (references.length) marks.take(references, [], { beside: true });
      const images = `${references.length} marked image${references.length === 1 ? "" : "s"}`;
      showNotice(`${file.name}: ${images} taken over`);
      if (missing.length) {
        const named = missing.slice(0, 3).join(", ") + (missing.length > 3 ? ", …" : "");
        showError(`${missing.length} of the images in ${file.name} are not here: ${named}`);
      }
    } catch (error) {
      showError(error);
    }
  });
}
