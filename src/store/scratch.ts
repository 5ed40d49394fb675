/**
 * One buffer that is used again from save to save.
 *
 * Role: a large index is read by every save; fresh memory for it costs more than
 * the read, since the system hands it out page by page. Whoever takes the buffer
 * has it alone until it is given back; a second taker gets memory of its own.
 */

/** Largest buffer that is kept, in bytes: an index of 20,000 lines. */
const KEPT_MAX_BYTES = 2 * 1024 * 1024

/** Buffers grow in steps, in bytes, so that an index that grows by a line finds room. */
const STEP_BYTES = 64 * 1024

let spare: Buffer | undefined

/**
 * Take a buffer.
 * @returns at least `size` bytes of any content.
 */
export function takeScratch(size: number): Buffer {
  const kept = spare
  spare = undefined
  if (kept !== undefined && kept.length >= size) return kept
  return Buffer.allocUnsafeSlow(Math.ceil(size / STEP_BYTES) * STEP_BYTES)
}

/** Give a buffer back; no view of it may be used from here on. */
export function giveBackScratch(buffer: Buffer): void {
  if (buffer.length <= KEPT_MAX_BYTES) spare = buffer
}
