/** A bar that says how far a job is, how long it will take, and lets it be cancelled. */

import { element } from "./dom.js";

/** Says a time in words: "4 s", "2 min". */
export function inWords(seconds) {
  if (seconds < 1) return "a moment";
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

export class ProgressBar {
  /** @param {HTMLElement} host @param {Function} cancel */
  constructor(host, cancel) {
    this.bar = element("progress", { max: "1", value: "0", "aria-label": "Progress" });
    this.text = element("span.progress-text");
    this.host = host;
    host.classList.add("progress");
    host.hidden = true;
    host.append(
      this.bar,
      this.text,
      element("button.small", { type: "button", text: "Cancel", on: { click: cancel } }),
    );
  }

  begin(text = "Starting…") {
    this.host.hidden = false;
    this.bar.removeAttribute("value");
    this.text.textContent = text;
  }

  /** @param {{done: number, total: number, seconds_left: number|null}} said */
  show({ done, total, seconds_left: left }) {
    this.bar.value = total ? done / total : 0;
    const time =
      left === null || left === undefined || done === total ? "" : ` · ${inWords(left)} left`;
    this.text.textContent = `${done} of ${total}${time}`;
  }

  end() {
    this.host.hidden = true;
  }
}
