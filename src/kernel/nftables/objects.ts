import type { Family } from '../../lib/ip.ts'
import type { Expression, Verdict } from './expression.ts'

/** A table of one IP family. */
export interface Table {
  readonly family: Family
  readonly name: string
}

/**
 * `isOwned`: only the socket that created the table may change it; flushes of others do not affect it, and it is
 * removed with the socket, unless it `isPersistent` as well (Linux 6.9): then it stays without an owner, until a socket
 * adds it with both again.
 */
export type TableSpec =
  | { readonly isOwned?: undefined; readonly isPersistent?: undefined }
  | { readonly isOwned: true; readonly isPersistent?: true }

/** Where the kernel calls a chain; absent for a chain that only other chains call. */
export interface Hook {
  readonly type: 'filter' | 'nat'
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting'
  /** The chain with the smallest number is called first. */
  readonly priority: number
  /** Packets that no rule accepts are dropped; if absent, they pass. */
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

/** A part of a key or of data; each takes whole 4-byte registers. `index`: a number that `numgen` generated. */
export type FieldType =
  | 'ipv4_addr'
  | 'ipv6_addr'
  | 'inet_proto'
  | 'inet_service'
  | 'mark'
  | 'ifname'
  | 'index'

/** A set; with data, a map. */
export interface SetSpec {
  readonly key: readonly FieldType[]
  /** Absent for a set. */
  readonly data?: readonly FieldType[] | 'verdict'
  /** Elements are ranges: ranges of numbers if the key has one field, a prefix in each field if it has several. */
  readonly isInterval?: true
  /** Rules add elements. */
  readonly isDynamic?: true
  /** Elements may have timeouts. */
  readonly hasTimeouts?: true
  /** Elements count packets and bytes. */
  readonly hasCounters?: true
  /** The maximum number of elements; absent if only memory limits it. */
  readonly size?: number
  readonly comment?: string
}

/** Keys and data are as in the registers: each field in network byte order (`mark` and `index` in the host's), padded to 4 bytes. */
export interface Element {
  readonly key: Buffer
  /** The last key of a range, inclusive; absent for a single key. */
  readonly keyEnd?: Buffer
  readonly data?: Buffer | Verdict
  /** Milliseconds; 0 or absent: the element never expires. */
  readonly timeout?: number
  /** Milliseconds until it expires; only when read. */
  readonly expires?: number
  readonly comment?: string
  /** Only when read. */
  readonly counter?: { readonly packets: bigint; readonly bytes: bigint }
}

/** A step of a transaction. */
export type Command =
  | { readonly do: 'addTable'; readonly table: Table; readonly spec?: TableSpec }
  /** Deletes a table with its content; refused if the table does not exist. */
  | { readonly do: 'deleteTable'; readonly table: Table }
  | {
      readonly do: 'addChain'
      readonly table: Table
      readonly chain: string
      readonly spec?: ChainSpec
    }
  | { readonly do: 'deleteChain'; readonly table: Table; readonly chain: string }
  /** Appends a rule to its chain. */
  | { readonly do: 'addRule'; readonly table: Table; readonly chain: string; readonly rule: Rule }
  /** Deletes all rules of the chain. */
  | { readonly do: 'flushChain'; readonly table: Table; readonly chain: string }
  | { readonly do: 'addSet'; readonly table: Table; readonly set: string; readonly spec: SetSpec }
  | { readonly do: 'deleteSet'; readonly table: Table; readonly set: string }
  /** All elements belong to the same set; refused if one exists with other data. */
  | {
      readonly do: 'addElements'
      readonly table: Table
      readonly set: string
      readonly elements: readonly Element[]
    }
  /** Refused if one of the elements does not exist. */
  | {
      readonly do: 'deleteElements'
      readonly table: Table
      readonly set: string
      readonly elements: readonly Pick<Element, 'key' | 'keyEnd'>[]
    }
