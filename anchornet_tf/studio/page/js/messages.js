/** What the page has to say: errors stay until they are closed, notices go by themselves. */

import { byId, element } from "./dom.js";

const NOTICE_MILLISECONDS = 6000;

/** Says something to people who listen to the page instead of looking at it. */
export function announce(text) {
  byId("announcer").textContent = text;
}

function toast(text, kind) {
  const list = byId("toasts");
  // The same line twice would only fill the window.
  for (const shown of list.children) if (shown.dataset.text === text) shown.remove();
  const close = () => box.remove();
  const box = element(`div.toast.${kind}`, { role: kind === "error" ? "alert" : "status" }, [
    element("span.toast-text", { text }),
    element("button.icon-button", {
      type: "button",
      "aria-label": "Close",
      text: "×",
      on: { click: close },
    }),
  ]);
  box.dataset.text = text;
  list.append(box);
  return close;
}

/** Shows an error, or the text of one, until it is closed. Work that was cancelled is no error. */
export function showError(error) {
  if (error?.name === "AbortError") return;
  toast(typeof error === "string" ? error : error.message, "error");
}

/** Puts a name before a line that does not say it itself. */
export function withName(name, text) {
  return text.includes(name) ? text : `${name}: ${text}`;
}

/** Shows a line for a few seconds. */
export function showNotice(text) {
  setTimeout(toast(text, "notice"), NOTICE_MILLISECONDS);
}

// Escape closes the newest message, unless it was meant for something else.
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  if (document.querySelector("details.menu[open]")) return;
  byId("toasts").lastElementChild?.remove();
});
