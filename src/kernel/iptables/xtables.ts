import { closeSync, openSync } from 'node:fs'
import type { Family } from '../../lib/ip.ts'
import {
  digestEntries,
  READER_SIGNATURES,
  type ReaderLibC,
  type TableInfo,
  TableReader,
} from './table-reader.ts'

/** Read access to the tables of the legacy iptables variant (getsockopt of linux/netfilter_ipv4/ip_tables.h). */
export interface Xtables {
  /** Takes microseconds; undefined if the kernel has no such table. */
  info(family: Family, table: string): TableInfo | undefined
  /** Digest of all rules without counters; takes about 2 µs for each rule, most of it in one system call. */
  digest(family: Family, table: string): Promise<string | undefined>
  /** Whether any iptables program took the xtables lock since the last call. */
  lockTaken(): boolean
  close(): void
}

/** linux/inotify.h. */
const IN_NONBLOCK_CLOEXEC = 0x8_0800
const IN_OPEN = 0x20
/** Every iptables-legacy program that reads or writes rules opens it. */
const LOCK = '/run/xtables.lock'

const SIGNATURES = {
  ...READER_SIGNATURES,
  inotify_init1: { arguments: ['i32'], return: 'i32' },
  inotify_add_watch: { arguments: ['i32', 'string', 'u32'], return: 'i32' },
  read: { arguments: ['i32', 'buffer', 'u64'], return: 'i64' },
} as const

/**
 * Reads xtables with direct system calls; undefined if this Node has no foreign function interface. Belongs to the
 * network namespace in which it was opened.
 */
export async function openXtables(): Promise<Xtables | undefined> {
  try {
    const { default: ffi } = await import('node:ffi')
    return connect(ffi.dlopen('libc.so.6', SIGNATURES).functions)
  } catch {
    return undefined
  }
}

interface LibC extends ReaderLibC {
  inotify_init1(flags: number): number
  inotify_add_watch(fd: number, path: string, mask: number): number
  read(fd: number, into: Buffer, bytes: bigint): bigint
}

function connect(libc: LibC): Xtables {
  const tables = new TableReader(libc)
  const lock = watchLock(libc)
  return {
    info: (family, table) => tables.info(family, table),
    async digest(family, table) {
      const entries = tables.entries(family, table)
      return entries && digestEntries(family, entries)
    },
    lockTaken: () => lock.taken(),
    close() {
      tables.close()
      lock.close()
    },
  }
}

function watchLock(libc: LibC): { taken(): boolean; close(): void } {
  const fd = libc.inotify_init1(IN_NONBLOCK_CLOEXEC)
  try {
    closeSync(openSync(LOCK, 'a', 0o600))
  } catch {
    // a read-only /run: then only what info and digest show is noticed
  }
  const events = Buffer.alloc(4096)
  libc.inotify_add_watch(fd, LOCK, IN_OPEN)
  return {
    taken() {
      let taken = false
      while (fd >= 0 && libc.read(fd, events, BigInt(events.length)) > 0n) taken = true
      return taken
    },
    close: () => void libc.close(fd),
  }
}
