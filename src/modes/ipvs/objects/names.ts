import type { OwnedChains } from '../../netfilter/chains/keeper-options.ts'
import { type RoleSpec, roleSets } from '../../netfilter/role-sets.ts'

/** Every chain and set of this mode starts with this; it is how a fresh daemon recognises them. */
export const PREFIX = 'NPVS-'

/** mangle decides which packets come here, so it is written last. */
export const OWNED_CHAINS: OwnedChains = { prefix: PREFIX, tables: ['nat', 'filter', 'mangle'] }

/** The error code of sets and members that the kernel refuses. */
export const SET_REFUSED = 'NP_IPVS_SET_REFUSED'

/** Our chains, each with the built-in chain that it is for. */
export const CHAIN = {
  /** mangle PREROUTING: which packets go to a virtual server. */
  route: `${PREFIX}ROUTE`,
  /** mangle: the first packet of a connection that came in. */
  fresh: `${PREFIX}NEW`,
  /** mangle: marks what the policy route is to deliver here. */
  take: `${PREFIX}TAKE`,
  /** mangle INPUT. */
  input: `${PREFIX}INPUT`,
  /** mangle OUTPUT: connections of this node's own processes. */
  output: `${PREFIX}OUTPUT`,
  /** nat PREROUTING and OUTPUT: who will be masqueraded. */
  masquerade: `${PREFIX}MASQ`,
  postrouting: `${PREFIX}POSTROUTING`,
  filter: `${PREFIX}FILTER`,
  /** filter OUTPUT and FORWARD, where Service ranges are known: `filter`, then the refusal. */
  ranges: `${PREFIX}RANGES`,
  forward: `${PREFIX}FORWARD`,
  martians: `${PREFIX}MARTIANS`,
} as const

const POINT = { type: 'hash:ip,port' } as const

const ROLES = {
  /** A virtual server of ours stands there. It is how a fresh daemon recognises them. */
  SERVICES: POINT,
  /** Was a virtual server: established connections still go there. */
  LEAVING: { type: 'hash:ip,port', isPrivate: true },
  /** Addresses of Services, for ICMP errors about their connections. */
  VIPS: { type: 'hash:ip' },
  MASQUERADE: POINT,
  /** Only the node's own connections are masqueraded. */
  ONNODE: POINT,
  /** Only the sources in ALLOWED may pass. */
  RANGED: POINT,
  /** With a source network. */
  ALLOWED: { type: 'hash:ip,port,net' },
  /** Pods and the node itself take the cluster pool: the mark of its virtual server. */
  SHORTCUT: { type: 'hash:ip,port', withMark: true },
  /** No backend: new connections are refused, or dropped. */
  REJECT: POINT,
  DROP: POINT,
  /** First packets are dropped for a moment, so that their clients send them again. */
  PAUSED: POINT,
  /** This process answers there, whatever the INPUT policy. */
  ADMIT: POINT,
} as const satisfies Readonly<Record<string, RoleSpec>>

/** What a set records of its members, which are an address, a protocol and a port unless stated otherwise. */
export type SetRole = keyof typeof ROLES

/** `NPVS-4-SERVICES` */
export const SETS = roleSets<SetRole>(PREFIX, ROLES)

/** The same sets under names that nothing uses, to try them. */
export const TRIED_SETS = roleSets<SetRole>(`${PREFIX}PROBE-`, ROLES)
