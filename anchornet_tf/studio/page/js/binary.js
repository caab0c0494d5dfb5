/**
 * Reads the server's binary answers: the length of a header, the header as JSON, then the numbers.
 *
 * The header is padded so that the numbers begin at a multiple of eight bytes: a typed array can
 * look at them where they are, without a copy.
 */

const KINDS = { int8: Int8Array, uint8: Uint8Array, float32: Float32Array };

/**
 * @param {ArrayBuffer} buffer
 * @returns {{header: Object, values: Int8Array|Uint8Array|Float32Array}}
 */
export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const Kind = KINDS[header.dtype];
  if (!Kind) throw new Error(`Expected int8, uint8 or float32 numbers. Received: ${header.dtype}`);
  const start = 4 + length;
  // A buffer that does not begin at a multiple of the size cannot be looked at in place.
  const values =
    start % Kind.BYTES_PER_ELEMENT === 0 ? new Kind(buffer, start) : new Kind(buffer.slice(start));
  return { header, values };
}
