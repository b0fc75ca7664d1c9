import type { ReplyHeader } from './read-header.ts'
import { readRdata } from './read-rdata.ts'
import { readName } from './wire-name.ts'

const FIXED_BYTES = 10

/** A record without compression. */
export interface WireRecord {
  /** The owner's name on the wire. */
  readonly owner: Buffer
  readonly type: number
  readonly klass: number
  /** Seconds, as in the message: 32 bits, unsigned. */
  readonly ttl: number
  readonly rdata: Buffer
}

/** The records of a message. */
export interface Sections {
  readonly answers: readonly WireRecord[]
  readonly authorities: readonly WireRecord[]
  readonly additionals: readonly WireRecord[]
}

/** All records of a message; undefined when one is malformed or missing. Bytes behind the last one are ignored. */
export function readSections(message: Buffer, header: ReplyHeader): Sections | undefined {
  let at = header.end
  const read = (count: number): WireRecord[] | undefined => {
    const records: WireRecord[] = []
    for (let index = 0; index < count; index++) {
      const found = readRecord(message, at)
      if (found === undefined) return undefined
      records.push(found.record)
      at = found.end
    }
    return records
  }
  const answers = read(header.counts.answers)
  const authorities = answers && read(header.counts.authorities)
  const additionals = authorities && read(header.counts.additionals)
  return answers && authorities && additionals && { answers, authorities, additionals }
}

/** Bytes that the record takes in a message without compression. */
export function wireLength({ owner, rdata }: WireRecord): number {
  return owner.length + FIXED_BYTES + rdata.length
}

/** The record as bytes of a message without compression. */
export function encodeRecord({ owner, type, klass, ttl, rdata }: WireRecord): Buffer {
  const fixed = Buffer.alloc(FIXED_BYTES)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(klass, 2)
  fixed.writeUInt32BE(ttl, 4)
  fixed.writeUInt16BE(rdata.length, 8)
  return Buffer.concat([owner, fixed, rdata])
}

function readRecord(
  message: Buffer,
  start: number,
): { record: WireRecord; end: number } | undefined {
  const owner = readName(message, start)
  const dataStart = (owner?.end ?? message.length) + FIXED_BYTES
  if (owner === undefined || dataStart > message.length) return undefined
  const type = message.readUInt16BE(owner.end)
  const end = dataStart + message.readUInt16BE(owner.end + 8)
  if (end > message.length) return undefined
  const rdata = readRdata(message, { type, start: dataStart, end })
  if (rdata === undefined) return undefined
  const [klass, ttl] = [message.readUInt16BE(owner.end + 2), message.readUInt32BE(owner.end + 4)]
  return { record: { owner: owner.wire, type, klass, ttl, rdata }, end }
}
