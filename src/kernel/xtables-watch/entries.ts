import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Family } from '../../lib/ip.ts'

/** struct ipt_get_entries before the entries: name[32], size, padding to 8. */
export const GET_ENTRIES_HEADER = 40

/**
 * Where struct ipt_entry and ip6t_entry keep the offset of the next entry, and
 * what the kernel itself writes: `comefrom` and the counters after it.
 */
const LAYOUT = {
  4: { next: 90, comefrom: 92, end: 112 },
  6: { next: 142, comefrom: 144, end: 168 },
} as const

/** Bytes between two turns of the event loop. */
const SLICE = 1024 * 1024

/** Digest of a table's entries without what changes with traffic. Changes `entries`. */
export async function digestEntries(family: Family, entries: Buffer): Promise<string> {
  const layout = LAYOUT[family]
  const hash = createHash('sha1')
  let done = 0
  let at = 0
  while (at + layout.end <= entries.length) {
    const length = entries.readUInt16LE(at + layout.next)
    if (length < layout.end) break
    entries.fill(0, at + layout.comefrom, at + layout.end)
    at += length
    if (at - done < SLICE) continue
    hash.update(entries.subarray(done, at))
    done = at
    await setImmediate()
  }
  return hash.update(entries.subarray(done)).digest('base64')
}
