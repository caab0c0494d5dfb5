/** Small helpers for making elements. Text is always set as text, never parsed as HTML. */

/**
 * Makes an element.
 * @param {string} tag Name, with classes after dots: "button.primary".
 * @param {Object} [properties] Attributes; `on` holds listeners, `text` the text.
 * @param {Array<Node|string>} [children]
 * @returns {HTMLElement}
 */
export function element(tag, properties = {}, children = []) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.classList.add(...classes);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (key === "text") made.textContent = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Returns the element of the page with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Replaces the options of a select, and keeps the chosen one where it still exists. */
export function fillSelect(select, options, chosen) {
  select.replaceChildren(
    ...options.map(({ value, text, title }) => element("option", { value, text, title })),
  );
  if (options.some(({ value }) => value === chosen)) select.value = chosen;
}

/** Calls `action` once things have been quiet for some milliseconds. */
export function debounce(action, milliseconds) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = 0;
      action(...values);
    }, milliseconds);
  };
  /** Does at once what is waiting, if anything is. */
  later.flush = () => {
    if (!timer) return undefined;
    clearTimeout(timer);
    timer = 0;
    return action();
  };
  /** Whether something is waiting. */
  later.waits = () => timer !== 0;
  later.cancel = () => {
    clearTimeout(timer);
    timer = 0;
  };
  return later;
}

/** Whether a key press belongs to a field in which the user writes. */
export function isTyping(event) {
  return /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range";
}
