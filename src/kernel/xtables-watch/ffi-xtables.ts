import { closeSync, openSync } from 'node:fs'
import type { Family } from '../../lib/ip.ts'
import { digestEntries, GET_ENTRIES_HEADER } from './entries.ts'
import type { TableInfo, Xtables } from './xtables.ts'

/** linux/netfilter_ipv4/ip_tables.h; ip6_tables.h has the same numbers. */
const SO_GET_INFO = 64
const SO_GET_ENTRIES = 65
const LEVEL = { 4: 0, 6: 41 } as const
const DOMAIN = { 4: 2, 6: 10 } as const
const SOCK_RAW_CLOEXEC = 3 | 0x8_0000
const IPPROTO_RAW = 255
/** struct ipt_getinfo: name[32], valid_hooks, hook_entry[5], underflow[5], num_entries, size. */
const INFO_BYTES = 84
/** linux/inotify.h. */
const IN_NONBLOCK_CLOEXEC = 0x8_0800
const IN_OPEN = 0x20
/** Every iptables-legacy program that reads or writes rules opens it. */
const LOCK = '/run/xtables.lock'

const SIGNATURES = {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  inotify_init1: { arguments: ['i32'], return: 'i32' },
  inotify_add_watch: { arguments: ['i32', 'string', 'u32'], return: 'i32' },
  read: { arguments: ['i32', 'buffer', 'u64'], return: 'i64' },
  close: { arguments: ['i32'], return: 'i32' },
} as const

/**
 * Reads xtables by system calls of our own; undefined when this Node has no
 * foreign function interface. Belongs to the network namespace of its opening.
 */
export async function openXtables(): Promise<Xtables | undefined> {
  try {
    const { default: ffi } = await import('node:ffi')
    return connect(ffi.dlopen('libc.so.6', SIGNATURES).functions)
  } catch {
    return undefined
  }
}

interface LibC {
  socket(domain: number, type: number, protocol: number): number
  getsockopt(fd: number, level: number, name: number, value: Buffer, length: Buffer): number
  inotify_init1(flags: number): number
  inotify_add_watch(fd: number, path: string, mask: number): number
  read(fd: number, into: Buffer, bytes: bigint): bigint
  close(fd: number): number
}

function connect(libc: LibC): Xtables {
  const sockets = new Map<Family, number>()
  const socketOf = (family: Family) => {
    const fd = sockets.get(family) ?? libc.socket(DOMAIN[family], SOCK_RAW_CLOEXEC, IPPROTO_RAW)
    sockets.set(family, fd)
    return fd
  }
  const ask = (family: Family, name: number, value: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(value.length)
    return libc.getsockopt(socketOf(family), LEVEL[family], name, value, length) === 0
  }
  const info = (family: Family, table: string): TableInfo | undefined => {
    const value = Buffer.alloc(INFO_BYTES)
    value.write(table)
    if (!ask(family, SO_GET_INFO, value)) return undefined
    return { entries: value.readUInt32LE(76), size: value.readUInt32LE(80) }
  }
  const lock = watchLock(libc)
  return {
    info,
    async digest(family, table) {
      const found = info(family, table)
      if (found === undefined) return undefined
      const value = Buffer.alloc(GET_ENTRIES_HEADER + found.size)
      value.write(table)
      value.writeUInt32LE(found.size, 32)
      if (!ask(family, SO_GET_ENTRIES, value)) return undefined
      return digestEntries(family, value.subarray(GET_ENTRIES_HEADER))
    },
    lockTaken: () => lock.taken(),
    close() {
      for (const fd of sockets.values()) if (fd >= 0) libc.close(fd)
      sockets.clear()
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
