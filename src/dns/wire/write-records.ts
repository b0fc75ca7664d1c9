import { countOf, type EncodedRecords } from './encoded-records.ts'

/** What was written: where it ends in the message, and how many records it is. */
export interface Written {
  readonly end: number
  readonly count: number
}

/** Where records go, and before which byte they must end. */
export interface Destination {
  readonly message: Buffer
  readonly start: number
  readonly limit: number
}

/** Writes records from the first on, as many as have space. */
export function writeRecords(
  { bytes, offsets }: EncodedRecords,
  destination: Destination,
): Written {
  const { message, start, limit } = destination
  const space = limit - start
  let count = offsets.length - 1
  while (count > 0 && offsets[count]! > space) count -= 1
  return { end: start + bytes.copy(message, start, 0, offsets[count]), count }
}

/** Which records change places: those from `first` on, of which the one at `turn` (modulo) leads. */
export interface Rotation {
  readonly first: number
  readonly turn: number
}

/** Writes records in rotated order, as many as have space. */
export function writeRotated(
  records: EncodedRecords,
  { first, turn }: Rotation,
  destination: Destination,
): Written {
  const count = countOf(records)
  const rotated = count - first
  if (rotated < 2) return writeRecords(records, destination)
  const lead = first + (turn % rotated)
  const { end, count: fixed } = writeRecords(slice(records, 0, first), destination)
  if (fixed < first) return { end, count: fixed }
  const leading = writeRecords(slice(records, lead, count), { ...destination, start: end })
  if (leading.count < count - lead) return { end: leading.end, count: first + leading.count }
  const rest = writeRecords(slice(records, first, lead), { ...destination, start: leading.end })
  return { end: rest.end, count: first + leading.count + rest.count }
}

/** The records from one index to another, without copying their bytes. */
function slice({ bytes, offsets }: EncodedRecords, from: number, to: number): EncodedRecords {
  const start = offsets[from]!
  return {
    bytes: bytes.subarray(start, offsets[to]),
    offsets: offsets.slice(from, to + 1).map((offset) => offset - start),
  }
}
