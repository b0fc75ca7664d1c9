import type { Cidr, Family, IpAddress } from '../../lib/ip.ts'

/** The set types that are created. */
export type SetTypeName = 'hash:ip' | 'hash:ip,port' | 'hash:ip,port,net'

/**
 * The options with which a set is created. A set that exists counts as the same if all options but `hashSize`
 * and `family` agree. The kernel does not compare these two, so names of sets contain the family.
 */
export interface SetType {
  readonly type: SetTypeName
  readonly family: Family
  /** The kernel refuses more members. The number does not change the memory of an empty set. */
  readonly maxElements: number
  /** Initial number of buckets, a power of two. It grows when commands add members, but not when packets do. */
  readonly hashSize?: number
  /**
   * Seconds after which a member without its own timeout expires; 0: never. If absent, members may not have timeouts.
   */
  readonly timeout?: number
  /** Members may carry a mark (`skbinfo`), which the SET target gives to packets. */
  readonly withMark?: boolean
  /** Members count packets and bytes. */
  readonly counters?: boolean
}

/** The fields that the set's type names, as in `10.96.0.1,tcp:80,192.168.0.0/16`. */
export interface Member {
  readonly ip: IpAddress
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
  readonly port?: number
  /** The kernel refuses a prefix length of 0: such a network is added as its two halves. */
  readonly net?: Cidr
  /** Seconds, only in sets with `timeout`; when read, the remaining seconds. */
  readonly timeout?: number
  /** Only in sets with `withMark`. */
  readonly mark?: { readonly value: number; readonly mask: number }
}

/**
 * Every command may be repeated without an error: creating a set that exists with the same type, adding a
 * member again (it gets the new timeout and mark), destroying an absent set, deleting an absent member.
 */
export type SetCommand =
  | { readonly do: 'create'; readonly name: string; readonly type: SetType }
  | { readonly do: 'destroy' | 'flush'; readonly name: string }
  | { readonly do: 'add' | 'delete'; readonly name: string; readonly member: Member }

/** One command that was refused; `index` counts the given commands from 0. */
export interface SetCommandError {
  readonly index: number
  /** The errno, or from 4096 on a number of ipset (linux/netfilter/ipset/ip_set.h). */
  readonly errno: number
  /** One line: the cause, and where possible the remedy. */
  readonly message: string
}

/** The properties of a set besides its members. */
export interface SetHeader {
  /** `hash:ip`, `list:set`, …: sets of other programs may have any type. */
  readonly type: string
  /** Undefined for types without a family (`list:set`). */
  readonly family: Family | undefined
  /** Undefined for types without such a limit. */
  readonly maxElements: number | undefined
  readonly hashSize: number | undefined
  readonly timeout: number | undefined
  readonly withMark: boolean
  readonly counters: boolean
  /** Number of rules and of sets that refer to it. */
  readonly references: number
  readonly entries: number
  /** Bytes in the kernel, members included. */
  readonly memory: number
}

/**
 * IP sets of this network namespace. A refused command is a value, and the other commands take effect; reading throws
 * NP_KERNEL_IPSET; lost answers throw NP_KERNEL_NETLINK.
 */
export interface Sets {
  /** Runs the commands in order. */
  run(commands: readonly SetCommand[]): Promise<readonly SetCommandError[]>
  /** Names of the sets that start with `prefix`. */
  names(prefix: string): Promise<readonly string[]>
  /** Headers, without members, of the sets that start with `prefix`. */
  headers(prefix: string): Promise<ReadonlyMap<string, SetHeader>>
  /** Members in the kernel's order; undefined if the set does not exist. */
  members(name: string): Promise<readonly Member[] | undefined>
  /** The newest and oldest protocol version of the kernel; throws NP_KERNEL_IPSET if it has no ip_set. */
  protocolVersion(): Promise<{ readonly newest: number; readonly oldest: number }>
  /** Closes the socket; the next call opens a new one. */
  close(): void
}

/** The identity of a member as the program ipset writes it: `10.96.0.1,tcp:80,192.168.0.0/16`. */
export function memberText({ ip, protocol, port, net }: Member): string {
  const words: string[] = [ip]
  if (port !== undefined) words.push(`${protocol?.toLowerCase() ?? ''}:${port}`)
  if (net !== undefined) words.push(net)
  return words.join(',')
}

/** The same sets; commands are accepted, and change nothing. */
export function readOnlySets(sets: Sets): Sets {
  return {
    run: async () => [],
    names: (prefix) => sets.names(prefix),
    headers: (prefix) => sets.headers(prefix),
    members: (name) => sets.members(name),
    protocolVersion: () => sets.protocolVersion(),
    close: () => sets.close(),
  }
}
