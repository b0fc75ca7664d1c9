/** What happens to a packet; `chain` names a chain of the same table. */
export type Verdict =
  | { readonly kind: 'accept' | 'drop' | 'return' | 'continue' }
  | { readonly kind: 'jump' | 'goto'; readonly chain: string }

/**
 * A 4-byte register of the rule machine: 8 to 23 (linux/netfilter/nf_tables.h: NFT_REG32_00 to NFT_REG32_15).
 * A longer value takes the registers that follow. Register 0 is the verdict.
 */
export type Register = number

export const VERDICT_REGISTER = 0
export const FIRST_REGISTER = 8

/**
 * One step of a rule. The steps run in order; `cmp` and `lookup` without a match end the rule. Each step is one kernel
 * expression; listed expressions are decoded into the same form.
 */
export type Expression =
  | { readonly type: 'meta'; readonly key: MetaKey; readonly to: Register }
  | { readonly type: 'setMeta'; readonly key: 'mark'; readonly from: Register }
  | {
      readonly type: 'payload'
      readonly base: PayloadBase
      readonly offset: number
      readonly length: number
      readonly to: Register
    }
  | {
      readonly type: 'ct'
      readonly key: ConntrackKey
      readonly direction?: 'original' | 'reply'
      readonly to: Register
    }
  | {
      readonly type: 'fib'
      readonly result: 'type' | 'oif'
      readonly of: 'saddr' | 'daddr'
      readonly to: Register
    }
  /** A random number from `offset` (absent: 0) to `offset` + `modulus` - 1. */
  | {
      readonly type: 'random'
      readonly modulus: number
      readonly offset?: number
      readonly to: Register
    }
  /** (register & mask) ^ xor; as long as `mask`. */
  | {
      readonly type: 'bitwise'
      readonly from: Register
      readonly to: Register
      readonly mask: Buffer
      readonly xor: Buffer
    }
  | {
      readonly type: 'cmp'
      readonly from: Register
      readonly is: 'equal' | 'different'
      readonly value: Buffer
    }
  | { readonly type: 'load'; readonly value: Buffer; readonly to: Register }
  /** Without `to` the rule continues if the key is in the set (`isInverted`: if it is not). */
  | {
      readonly type: 'lookup'
      readonly set: string
      readonly key: Register
      readonly to?: Register
      readonly isInverted?: true
    }
  /**
   * Adds, renews or removes an element of a set with the flag `dynamic`. `timeout`: milliseconds; `counts`: the element
   * counts the packets that meet this rule.
   */
  | {
      readonly type: 'dynamic'
      readonly operation: 'add' | 'update' | 'delete'
      readonly set: string
      readonly key: Register
      readonly data?: Register
      readonly timeout?: number
      readonly counts?: true
    }
  | {
      readonly type: 'nat'
      readonly to: 'destination' | 'source'
      readonly family: 4 | 6
      readonly address: Register
      readonly port: Register
    }
  | { readonly type: 'masquerade'; readonly isFullyRandom: boolean }
  /** Sends a copy of the packet as it is to the machine with this address; the packet itself goes on. */
  | { readonly type: 'duplicate'; readonly address: Register }
  | { readonly type: 'reject'; readonly with: 'tcpReset' | 'portUnreachable' }
  | { readonly type: 'counter' }
  /**
   * The rule continues for `perSecond` packets a second, and for `burst` at once; with `isOver` for those that exceed
   * this. Both at least 1.
   */
  | {
      readonly type: 'limit'
      readonly perSecond: number
      readonly burst: number
      readonly isOver?: true
    }
  /** Sends the packet to the program that reads this group (0 to 65535) of nfnetlink_log. `prefix`: 1 to 127 bytes. */
  | { readonly type: 'log'; readonly group: number; readonly prefix: string }
  | { readonly type: 'verdict'; readonly verdict: Verdict }
  /** An expression of another program, which this code does not write, by its name. */
  | { readonly type: 'foreign'; readonly name: string }

export type MetaKey = 'l4proto' | 'mark' | 'iifname' | 'oifname' | 'nfproto'

/** Offsets count from the start of the IP header or of the transport header. */
export type PayloadBase = 'network' | 'transport'

export type ConntrackKey =
  | 'state'
  | 'status'
  | 'mark'
  | 'direction'
  | 'saddr'
  | 'daddr'
  | 'protoSource'
  | 'protoDestination'
