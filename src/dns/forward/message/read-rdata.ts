import { readName } from './wire-name.ts'

/** Where names stand in the data of a record: behind `fixed` bytes and `strings` character strings. */
interface NameLayout {
  readonly fixed: number
  readonly strings?: number
  readonly names: number
}

const ONE_NAME: NameLayout = { fixed: 0, names: 1 }

/** Types whose data may hold compressed names (RFC 1035 §3.3, RFC 3597 §4). */
const LAYOUTS: ReadonlyMap<number, NameLayout> = new Map([
  // NS, MD, MF, CNAME, MB, MG, MR, PTR, NXT, DNAME, NSEC
  ...[2, 3, 4, 5, 7, 8, 9, 12, 30, 39, 47].map((type) => [type, ONE_NAME] as const),
  // SOA, MINFO, RP
  ...[6, 14, 17].map((type) => [type, { fixed: 0, names: 2 }] as const),
  // MX, AFSDB, RT, KX
  ...[15, 18, 21, 36].map((type) => [type, { fixed: 2, names: 1 }] as const),
  // SIG, RRSIG
  ...[24, 46].map((type) => [type, { fixed: 18, names: 1 }] as const),
  // PX
  [26, { fixed: 2, names: 2 }],
  // SRV
  [33, { fixed: 6, names: 1 }],
  // NAPTR
  [35, { fixed: 4, strings: 3, names: 1 }],
])

/** The data of a record: from `start` to before `end`, inside the message. */
export interface RdataRange {
  readonly type: number
  readonly start: number
  readonly end: number
}

/** The data without compression, in memory that may be the message's; undefined when it is malformed. */
export function readRdata(message: Buffer, { type, start, end }: RdataRange): Buffer | undefined {
  const layout = LAYOUTS.get(type)
  if (layout === undefined) return message.subarray(start, end)
  let at = start + layout.fixed
  for (let strings = layout.strings ?? 0; strings > 0 && at < end; strings--) {
    at += 1 + message[at]!
  }
  const parts = [message.subarray(start, at)]
  for (let names = layout.names; names > 0; names--) {
    const name = readName(message, at)
    if (name === undefined || name.end > end) return undefined
    parts.push(name.wire)
    at = name.end
  }
  parts.push(message.subarray(at, end))
  return Buffer.concat(parts)
}
