/** The choice of descriptor and matcher, each with what it does and what it costs. */

import { byId, element } from "./dom.js";
import { store } from "./store.js";

function choices(host, name, offers, chosen, change) {
  host.replaceChildren(
    ...offers.map(({ name: value, summary, cost }) => {
      const radio = element("input", { type: "radio", name, value });
      radio.checked = value === chosen;
      radio.addEventListener("change", change);
      return element("label.choice", {}, [
        radio,
        element("span.choice-text", {}, [
          element("b", { text: value }),
          element("span.choice-summary", { text: summary }),
          element("span.choice-cost", { text: cost }),
        ]),
      ]);
    }),
  );
}

/** Fills the menu; `work` remembers what was chosen. */
export function methodMenu(work) {
  const { descriptors, matchers } = store.state;
  const known = (offers, name) => offers.some((offer) => offer.name === name);
  const { descriptor, matcher } = work.settings;
  if (known(descriptors, descriptor)) store.descriptor = descriptor;
  if (known(matchers, matcher)) store.matcher = matcher;
  const summary = byId("method-summary");
  const show = () => (summary.textContent = `${store.descriptor} + ${store.matcher}`);
  const change = () => {
    const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
    store.setMethod(chosen("descriptor"), chosen("matcher"));
    work.set("descriptor", store.descriptor);
    work.set("matcher", store.matcher);
    show();
  };
  choices(byId("descriptor-choices"), "descriptor", descriptors, store.descriptor, change);
  choices(byId("matcher-choices"), "matcher", matchers, store.matcher, change);
  show();
}

/** Menus close when something else is clicked, and with Escape. */
export function closeMenus() {
  const close = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) menu.open = false;
    }
  };
  addEventListener("pointerdown", (event) => close(event.target.closest?.("details.menu")));
  addEventListener("keydown", (event) => {
    const open = document.querySelector("details.menu[open]");
    if (event.key !== "Escape" || !open) return;
    open.open = false;
    open.querySelector("summary").focus();
  });
}
