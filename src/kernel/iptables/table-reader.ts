import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Family } from '../../lib/ip.ts'

/** struct ipt_get_entries before the entries: name[32], size, padding to 8. */
const GET_ENTRIES_HEADER = 40

/**
 * Offsets in struct ipt_entry and ip6t_entry: of the offset of the next entry, and of the fields that the kernel
 * itself writes (`comefrom` and the counters after it).
 */
const LAYOUT = {
  4: { next: 90, comefrom: 92, end: 112 },
  6: { next: 142, comefrom: 144, end: 168 },
} as const

/** Bytes to digest before the event loop gets a turn. */
const SLICE_BYTES = 1024 * 1024

/** linux/netfilter_ipv4/ip_tables.h; ip6_tables.h has the same numbers. */
const SO_GET_INFO = 64
const SO_GET_ENTRIES = 65
const LEVEL = { 4: 0, 6: 41 } as const
const DOMAIN = { 4: 2, 6: 10 } as const
const SOCK_RAW_CLOEXEC = 3 | 0x8_0000
const IPPROTO_RAW = 255
/** struct ipt_getinfo: name[32], valid_hooks, hook_entry[5], underflow[5], num_entries, size. */
const INFO_BYTES = 84

/** Number and size of the rules of a table. */
export interface TableInfo {
  readonly entries: number
  /** Bytes of all entries. */
  readonly size: number
}

/** The signatures of `ReaderLibC`. */
export const READER_SIGNATURES = {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
} as const

/** The functions of the C library that `TableReader` calls. */
export interface ReaderLibC {
  socket(domain: number, type: number, protocol: number): number
  getsockopt(fd: number, level: number, name: number, value: Buffer, length: Buffer): number
  close(fd: number): number
}

/**
 * Reads tables of the legacy iptables by system calls. Reading a table that the network
 * namespace does not have creates it. The reader belongs to the network namespace of its first read.
 */
export class TableReader {
  readonly #libc: ReaderLibC
  readonly #sockets = new Map<Family, number>()

  constructor(libc: ReaderLibC) {
    this.#libc = libc
  }

  /** Number and size of a table's rules; takes microseconds. Undefined if the kernel has no such table, or cannot be read now. */
  info(family: Family, table: string): TableInfo | undefined {
    const value = Buffer.alloc(INFO_BYTES)
    value.write(table)
    if (!this.#request(family, SO_GET_INFO, value)) return undefined
    return { entries: value.readUInt32LE(76), size: value.readUInt32LE(80) }
  }

  /** All rules in the kernel's form, in one copy; undefined if they changed meanwhile. */
  entries(family: Family, table: string): Buffer | undefined {
    const found = this.info(family, table)
    if (found === undefined) return undefined
    const value = Buffer.alloc(GET_ENTRIES_HEADER + found.size)
    value.write(table)
    value.writeUInt32LE(found.size, 32)
    if (!this.#request(family, SO_GET_ENTRIES, value)) return undefined
    return value.subarray(GET_ENTRIES_HEADER)
  }

  close(): void {
    for (const fd of this.#sockets.values()) this.#libc.close(fd)
    this.#sockets.clear()
  }

  #request(family: Family, name: number, value: Buffer): boolean {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(value.length)
    return this.#libc.getsockopt(this.#socketOf(family), LEVEL[family], name, value, length) === 0
  }

  /** Negative if it cannot be opened, for example because no descriptor is left; the next request tries again. */
  #socketOf(family: Family): number {
    const known = this.#sockets.get(family)
    if (known !== undefined) return known
    const fd = this.#libc.socket(DOMAIN[family], SOCK_RAW_CLOEXEC, IPPROTO_RAW)
    if (fd >= 0) this.#sockets.set(family, fd)
    return fd
  }
}

/** Digest of a table's entries without the fields that change with traffic. Modifies `entries`. */
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
    if (at - done < SLICE_BYTES) continue
    hash.update(entries.subarray(done, at))
    done = at
    await setImmediate()
  }
  return hash.update(entries.subarray(done)).digest('base64')
}
