/** Colours that stay apart for the colour-blind, and in grey. */

// Viridis at nine places; between them the steps are so even that straight lines do.
const VIRIDIS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/** RGB of 256 steps, three bytes for each. */
export const VIRIDIS_TABLE = (() => {
  const table = new Uint8Array(256 * 3);
  for (let step = 0; step < 256; step++) {
    const place = (step / 255) * (VIRIDIS.length - 1);
    const left = Math.min(Math.floor(place), VIRIDIS.length - 2);
    for (let channel = 0; channel < 3; channel++) {
      const [low, high] = [VIRIDIS[left][channel], VIRIDIS[left + 1][channel]];
      table[step * 3 + channel] = Math.round(low + (high - low) * (place - left));
    }
  }
  return table;
})();

/** The CSS colour of a value from 0 to 1. */
export function viridis(value) {
  const step = Math.round(Math.min(Math.max(value, 0), 1) * 255) * 3;
  return `rgb(${VIRIDIS_TABLE[step]} ${VIRIDIS_TABLE[step + 1]} ${VIRIDIS_TABLE[step + 2]})`;
}

// Blue and orange are told apart with every common kind of colour-blindness; shapes differ too.
export const SURE = "#1f6feb";
export const UNSURE = "#e8710a";
export const MARKED = "#ffffff";
export const INK = "#10151c";

/** Colours of matches, from left to right in the source, so that neighbours are alike. */
export function placeColour(x) {
  // The darkest fifth would be lost on dark pictures.
  return viridis(0.2 + 0.8 * x);
}
