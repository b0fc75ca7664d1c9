import type { SetType } from '../../../kernel/ipset/sets.ts'
import type { Family } from '../../../lib/ip.ts'
import type { KeptSet } from '../../netfilter/set-members.ts'
import { MAX_MEMBERS, nameSet } from '../../netfilter/set-text.ts'

/** Every chain and set of this mode starts with this; it is how a fresh daemon recognises them. */
export const PREFIX = 'NPVS-'

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

/**
 * What a set records of its members, which are an address, a protocol and a port
 * unless stated otherwise.
 */
export const ROLES = [
  /** A virtual server of ours exists there. It is how a fresh daemon recognises them. */
  'SERVICES',
  /** There was a virtual server: established connections still go there. */
  'LEAVING',
  /** Addresses of Services, for ICMP errors about their connections. */
  'VIPS',
  'MASQUERADE',
  /** Only the node's own connections are masqueraded. */
  'ONNODE',
  /** Only the sources in ALLOWED may pass. */
  'RANGED',
  /** With a source network. */
  'ALLOWED',
  /** Pods and the node itself take the cluster pool: the mark of its virtual server. */
  'SHORTCUT',
  /** No backend: new connections are refused, or dropped. */
  'REJECT',
  'DROP',
  /** First packets are dropped for a moment, so that their clients send them again. */
  'PAUSED',
  /** This process answers there, whatever the INPUT policy. */
  'ADMIT',
] as const

/** What a set is for; each family has its own, see `setName`. */
export type SetRole = (typeof ROLES)[number]

/** `NPVS-4-SERVICES` */
export function setName(family: Family, role: SetRole): string {
  return nameSet(PREFIX, family, role)
}

/** How a set is created, as in `ipset create`. */
export function setType(family: Family, role: SetRole): SetType {
  const common = { family, maxElements: MAX_MEMBERS } as const
  if (role === 'VIPS') return { type: 'hash:ip', ...common }
  if (role === 'ALLOWED') return { type: 'hash:ip,port,net', ...common }
  return { type: 'hash:ip,port', ...common, ...(role === 'SHORTCUT' ? { withMark: true } : {}) }
}

/** Every set of these families. */
export function keptSets(families: readonly Family[]): readonly KeptSet[] {
  return families.flatMap((family) =>
    ROLES.map((role) => {
      const isPrivate = role === 'LEAVING'
      return { name: setName(family, role), type: setType(family, role), isPrivate }
    }),
  )
}
