import { constants } from 'node:os'
import type { Register } from '../expression.ts'

const { EINVAL, ENODATA, ERANGE } = constants.errno

/** The number of 4-byte registers of the rule machine. */
const COUNT = 16
const FIRST = 8
/** The numbers 1 to 4 stand for registers of 16 bytes. */
const LAST_LARGE = 4

/** Which registers a rule has written so far; the kernel refuses to read others (Linux 6.14). */
export class Registers {
  readonly #written = new Set<number>()

  /** The errno for reading `length` bytes; 0 if allowed. */
  load(register: Register, length: number): number {
    const place = placeOf(register, length)
    if (typeof place === 'number') return place
    for (let at = place.start; at < place.end; at++) if (!this.#written.has(at)) return ENODATA
    return 0
  }

  /** The errno for writing `length` bytes; 0 on success. */
  store(register: Register, length: number): number {
    const place = placeOf(register, length)
    if (typeof place === 'number') return place
    for (let at = place.start; at < place.end; at++) this.#written.add(at)
    return 0
  }
}

function placeOf(register: Register, length: number): number | { start: number; end: number } {
  if (register === 0 || length === 0) return EINVAL
  const isLarge = register <= LAST_LARGE
  const start = isLarge ? (register - 1) * LAST_LARGE : register - FIRST
  const end = start + Math.ceil(length / 4)
  return start < 0 || end > COUNT ? ERANGE : { start, end }
}
