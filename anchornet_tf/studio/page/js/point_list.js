/** The list of named points: choose, rename, delete, add. */

import { byId, element } from "./dom.js";
import { showError } from "./messages.js";

export class PointList {
  /**
   * @param {import("./marks.js").Marks} marks
   * @param {(name: string) => void} choose
   */
  constructor(marks, choose) {
    this.marks = marks;
    this.choose = choose;
    this.list = byId("point-list");
    const form = byId("point-form");
    const field = byId("point-name");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = field.value.trim() || marks.freshName();
      if (marks.names.includes(name)) return showError(`There is a point “${name}” already.`);
      marks.addName(name);
      field.value = "";
      return this.choose(name);
    });
  }

  /**
   * @param {(name: string) => string} kindOf "marked", "sure", "unsure" or "" for not placed.
   * @param {string|null} chosen
   */
  fill(kindOf, chosen) {
    // A field in which somebody writes must not be taken away.
    if (this.list.contains(document.activeElement) && document.activeElement.tagName === "INPUT")
      return;
    byId("point-empty").hidden = this.marks.names.length > 0;
    this.list.replaceChildren(
      ...this.marks.names.map((name) => this.#item(name, kindOf(name), name === chosen)),
    );
  }

  #item(name, kind, chosen) {
    const words = { marked: "marked here", sure: "found", unsure: "unsure" };
    return element("li.point-item", { "data-name": name, "aria-current": chosen ? "true" : null }, [
      element(
        "button.point-choose",
        {
          type: "button",
          "aria-pressed": String(chosen),
          title: kind ? "Choose this point" : "Choose this point, then click its place",
          on: { click: () => this.choose(chosen ? null : name) },
        },
        [
          element(`span.shape.shape-${kind || "none"}`, { "aria-hidden": "true" }),
          element("span.point-text", { text: name }),
          element("span.point-kind", { text: words[kind] ?? "click to place" }),
        ],
      ),
      element("button.icon-button", {
        type: "button",
        text: "✎",
        title: "Rename",
        "aria-label": `Rename ${name}`,
        on: { click: (event) => this.#rename(event.target.closest("li"), name) },
      }),
      element("button.icon-button", {
        type: "button",
        text: "×",
        title: "Delete in all images",
        "aria-label": `Delete ${name} in all images`,
        on: { click: () => this.marks.deleteName(name) },
      }),
    ]);
  }

  #rename(item, name) {
    const field = element("input", {
      type: "text",
      value: name,
      "aria-label": `New name of ${name}`,
      maxlength: "100",
    });
    let over = false;
    const end = (keep) => {
      if (over) return;
      over = true;
      const into = field.value.trim();
      field.blur();
      if (keep && into && !this.marks.rename(name, into)) {
        showError(`There is a point “${into}” already.`);
      }
      // The list is made anew even if nothing changed.
      this.marks.dispatchEvent(new Event("look"));
    };
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    });
    field.addEventListener("blur", () => end(true));
    item.replaceChildren(field);
    field.focus();
    field.select();
  }
}
