/** Keeps the answers that were used last, so that a long session does not fill the memory. */
export class Memory {
  #answers = new Map();
  #most;

  /** @param {number} most How many answers are kept. */
  constructor(most) {
    this.#most = most;
  }

  /**
   * Returns what is kept under a key, or what `make` promises. A failure is not kept.
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} make
   * @returns {Promise<T>}
   */
  get(key, make) {
    let answer = this.#answers.get(key);
    // Taken out and put in again: the map's order is that of the last use.
    if (answer) this.#answers.delete(key);
    else {
      answer = make();
      answer.catch(() => this.#answers.delete(key));
    }
    this.#answers.set(key, answer);
    if (this.#answers.size > this.#most) {
      this.#answers.delete(this.#answers.keys().next().value);
    }
    return answer;
  }
}
