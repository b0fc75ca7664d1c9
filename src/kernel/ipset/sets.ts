import type { Cidr, Family, IpAddress } from '../../lib/ip.ts'

export type SetTypeName = 'hash:ip' | 'hash:ip,port' | 'hash:ip,port,net'

/**
 * What a set is made with. Two of the same name are the same when all but
 * `hashSize` and `family` agree: the kernel compares those two not, so names contain the family.
 */
export interface SetType {
  readonly type: SetTypeName
  readonly family: Family
  /** Additions beyond are refused. An empty set costs the same whatever stands here. */
  readonly maxElements: number
  /** Buckets at the start, a power of two; additions from here enlarge the set, packets never do. */
  readonly hashSize?: number
  /** Seconds that a member stays unless it has its own; 0: until it is deleted. Absent: no member ends. */
  readonly timeout?: number
  /** Members may carry a mark (`skbinfo`), which the SET target gives to packets. */
  readonly withMark?: boolean
  readonly counters?: boolean
}

/** The fields that the set's type names, as in `10.96.0.1,tcp:80,192.168.0.0/16`. */
export interface Member {
  readonly ip: IpAddress
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
  readonly port?: number
  /** A prefix length of 0 is refused by the kernel: give the two halves. */
  readonly net?: Cidr
  /** Seconds; only in sets with `timeout`. When read: those that are left. */
  readonly timeout?: number
  /** Only in sets with `withMark`. */
  readonly mark?: { readonly value: number; readonly mask: number }
}

/**
 * All may be repeated: a set that exists with the same type is created again, a
 * member added again (its timeout and mark are those of the last addition), an
 * absent set destroyed, an absent member deleted.
 */
export type SetCommand =
  | { readonly do: 'create'; readonly name: string; readonly type: SetType }
  | { readonly do: 'destroy' | 'flush'; readonly name: string }
  | { readonly do: 'add' | 'delete'; readonly name: string; readonly member: Member }

/** One command that was refused; `index` counts the given commands from 0. */
export interface SetCommandError {
  readonly index: number
  /** The system's number, or ipset's own from 4096 on (linux/netfilter/ipset/ip_set.h). */
  readonly errno: number
  /** One line: what is wrong, and where possible what to do. */
  readonly message: string
}

export interface SetHeader {
  /** `hash:ip`, `list:set`, …; foreign sets may have types that we never make. */
  readonly type: string
  /** Undefined: the type has none (`list:set`). */
  readonly family: Family | undefined
  /** Undefined: the type has no such limit. */
  readonly maxElements: number | undefined
  readonly hashSize: number | undefined
  readonly timeout: number | undefined
  readonly withMark: boolean
  readonly counters: boolean
  /** Rules, and sets of sets, that name it. */
  readonly references: number
  readonly entries: number
  /** Bytes in the kernel, members included. */
  readonly memory: number
}

/**
 * IP sets of this network namespace. A refused command is a value and the others
 * take effect; reading throws NP_KERNEL_IPSET; lost answers throw NP_KERNEL_NETLINK.
 */
export interface Sets {
  /** Runs the commands in order. */
  run(commands: readonly SetCommand[]): Promise<readonly SetCommandError[]>
  /** Names of the sets that start with `prefix`. */
  names(prefix: string): Promise<readonly string[]>
  /** Headers, without members, of the sets that start with `prefix`. */
  headers(prefix: string): Promise<ReadonlyMap<string, SetHeader>>
  /** Members in the kernel's order; undefined when there is no such set. */
  members(name: string): Promise<readonly Member[] | undefined>
  /** The newest and oldest protocol that the kernel speaks; throws NP_KERNEL_IPSET when it has no ip_set. */
  protocolVersion(): Promise<{ readonly newest: number; readonly oldest: number }>
  close(): void
}

/** What makes a member itself, in ipset's own words: `10.96.0.1,tcp:80,192.168.0.0/16`. */
export function memberText({ ip, protocol, port, net }: Member): string {
  const words: string[] = [ip]
  if (port !== undefined) words.push(`${protocol?.toLowerCase() ?? ''}:${port}`)
  if (net !== undefined) words.push(net)
  return words.join(',')
}
