import type { Family } from '../../lib/ip.ts'
import type { Expression, Verdict } from './expression.ts'

/** A table of one IP family. */
export interface Table {
  readonly family: Family
  readonly name: string
}

/** `owned`: only the socket that made it may change it; it goes with the socket, and flushes of others spare it. */
export interface TableSpec {
  readonly isOwned?: true
}

/** Where the kernel calls a chain; absent: only other chains do. */
export interface Hook {
  readonly type: 'filter' | 'nat'
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting'
  /** Of several chains the smallest comes first. */
  readonly priority: number
  /** What no rule accepts is dropped; absent: it passes. */
  readonly dropsByDefault?: true
}

export interface ChainSpec {
  readonly hook?: Hook
}

export interface Rule {
  readonly expressions: readonly Expression[]
  /** Up to 127 bytes; `nft list` shows it. */
  readonly comment?: string
}

/** A part of a key or of data; each takes whole 4-byte registers. `index`: a number that `numgen` chose. */
export type FieldType =
  | 'ipv4_addr'
  | 'ipv6_addr'
  | 'inet_proto'
  | 'inet_service'
  | 'mark'
  | 'ifname'
  | 'index'

/** A set, or a map where it has data. */
export interface SetSpec {
  readonly key: readonly FieldType[]
  /** Absent: a set. */
  readonly data?: readonly FieldType[] | 'verdict'
  /** Elements are ranges: of single numbers where the key has one field, of a prefix in each field where it has several. */
  readonly isInterval?: true
  /** Rules add elements. */
  readonly isDynamic?: true
  /** Elements may have timeouts. */
  readonly hasTimeouts?: true
  /** Elements count packets and bytes. */
  readonly hasCounters?: true
  /** Elements at most; absent: as many as there is memory for. */
  readonly size?: number
  readonly comment?: string
}

/** Keys and data are as in the registers: each field in network byte order (`mark` and `index` in the host's), padded to 4 bytes. */
export interface Element {
  readonly key: Buffer
  /** The last key of a range, inclusive; absent: a single key. */
  readonly keyEnd?: Buffer
  readonly data?: Buffer | Verdict
  /** Milliseconds; 0 or absent: it stays. */
  readonly timeout?: number
  /** Milliseconds until it goes; only read. */
  readonly expires?: number
  readonly comment?: string
  /** Only read. */
  readonly counter?: { readonly packets: bigint; readonly bytes: bigint }
}

/** A step of a transaction. */
export type Command =
  | { readonly do: 'addTable'; readonly table: Table; readonly spec?: TableSpec }
  /** With all that is in it; `deleteTable` of a table that is not there is refused. */
  | { readonly do: 'deleteTable'; readonly table: Table }
  | {
      readonly do: 'addChain'
      readonly table: Table
      readonly chain: string
      readonly spec?: ChainSpec
    }
  | { readonly do: 'deleteChain'; readonly table: Table; readonly chain: string }
  /** Behind the others of its chain. */
  | { readonly do: 'addRule'; readonly table: Table; readonly chain: string; readonly rule: Rule }
  /** All rules of the chain. */
  | { readonly do: 'flushChain'; readonly table: Table; readonly chain: string }
  | { readonly do: 'addSet'; readonly table: Table; readonly set: string; readonly spec: SetSpec }
  | { readonly do: 'deleteSet'; readonly table: Table; readonly set: string }
  /** All of the same set; one that is there with other data is refused. */
  | {
      readonly do: 'addElements'
      readonly table: Table
      readonly set: string
      readonly elements: readonly Element[]
    }
  /** One that is not there is refused. */
  | {
      readonly do: 'deleteElements'
      readonly table: Table
      readonly set: string
      readonly elements: readonly Pick<Element, 'key' | 'keyEnd'>[]
    }
