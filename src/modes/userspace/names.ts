import type { OwnedChains } from '../netfilter/chains/keeper-options.ts'
import { familyOfSet, type RoleSpec, roleSets } from '../netfilter/role-sets.ts'

/** Every chain and set of this mode starts with this; it is how a fresh daemon recognises them. */
export const PREFIX = 'NPUS-'

/** mangle decides which packets come here, so it is written last. */
export const OWNED_CHAINS: OwnedChains = { prefix: PREFIX, tables: ['nat', 'filter', 'mangle'] }

/** Error code of sets and members that the kernel refuses. */
export const SET_REFUSED = 'NP_USERSPACE_SET_REFUSED'

/** Chains by what they do; the comment names the table and the built-in chain that jumps there. */
export const CHAIN = {
  /** mangle PREROUTING: which packets are ours. */
  route: `${PREFIX}ROUTE`,
  /** mangle: packets for a Service that belong to no connection yet. */
  fresh: `${PREFIX}NEW`,
  /** mangle: marks what the policy route is to deliver here. */
  divert: `${PREFIX}DIVERT`,
  /** mangle: new connections when no process listens for them. */
  hold: `${PREFIX}HOLD`,
  /** mangle INPUT. */
  input: `${PREFIX}INPUT`,
  /** mangle OUTPUT: packets of this node's own processes. */
  output: `${PREFIX}OUTPUT`,
  /** nat PREROUTING: translates new connections to the port of the forwarder's socket. */
  redirect: `${PREFIX}REDIRECT`,
  /** nat: the same for connections of this node's pods and processes. */
  pods: `${PREFIX}PODS`,
  /** nat POSTROUTING: packets that we took meet no other rule. */
  taken: `${PREFIX}TAKEN`,
  /** filter INPUT, OUTPUT and FORWARD, new connections: refuses what has no backend. */
  filter: `${PREFIX}FILTER`,
  /** filter OUTPUT and FORWARD, where Service ranges are known: `filter`, then the refusal. */
  ranges: `${PREFIX}RANGES`,
  /** filter INPUT: drops packets to 127.0.0.0/8 that come from outside. */
  martians: `${PREFIX}MARTIANS`,
} as const

const POINT = { type: 'hash:ip,port' } as const

/**
 * One set for each role and family. A member is an address, a protocol and a port. Members are added in this order and
 * deleted in the reverse order, so that a client that a Service serves always meets the rules for itself before those
 * that refuse others.
 */
const ROLES = {
  /** With a source network: members of RANGED that this network may connect to. */
  ALLOWED: { type: 'hash:ip,port,net' },
  /** Only the sources in ALLOWED may pass. */
  RANGED: POINT,
  /** Pods and this node itself have a backend, though others are refused or dropped. */
  SHORTCUT: POINT,
  /** No backend for others: new connections are refused, or dropped. */
  REJECT: POINT,
  DROP: POINT,
  /** This process answers there, whatever the INPUT policy. */
  ADMIT: POINT,
  /** A listener of this mode: packets to it come here. */
  SERVICES: POINT,
} as const satisfies Readonly<Record<string, RoleSpec>>

export type SetRole = keyof typeof ROLES

/** `NPUS-4-SERVICES` */
export const SETS = roleSets<SetRole>(PREFIX, ROLES)

/** The same sets under names that nothing uses, to try them. */
export const TRIED_SETS = roleSets<SetRole>(`${PREFIX}PROBE-`, ROLES)

/** The place of a set in the order of its mode; -1: it is not one of them. */
export function orderOf(set: string): number {
  return SETS[familyOfSet(set)].kept.findIndex(({ name }) => name === set)
}
