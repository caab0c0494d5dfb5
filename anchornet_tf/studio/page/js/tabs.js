/** The four modes as tabs; arrow keys go from one to the next. */

import { byId } from "./dom.js";

/** @param {(mode: string) => void} chosen Called with the name of a mode. */
export function connectTabs(chosen) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const other of tabs) {
      const isChosen = other === tab;
      other.setAttribute("aria-selected", String(isChosen));
      other.tabIndex = isChosen ? 0 : -1;
      byId(other.getAttribute("aria-controls")).hidden = !isChosen;
    }
    chosen(tab.dataset.mode);
  };
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: number - 1, ArrowRight: number + 1, Home: 0, End: tabs.length - 1 }[
        event.key
      ];
      if (to === undefined) return;
      event.preventDefault();
      const next = tabs[(to + tabs.length) % tabs.length];
      next.focus();
      choose(next);
    });
  });
  /** Chooses a mode by its name. */
  return (mode) => choose(tabs.find((tab) => tab.dataset.mode === mode) ?? tabs[0]);
}
