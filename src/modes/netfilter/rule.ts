import type { Protocol } from '../../forwarding/entry.ts'
import { type Cidr, hostCidr, type IpAddress } from '../../lib/ip.ts'
import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { objectOf } from './chains/object.ts'
import { kindOf, memberOf, nameOf } from './object-key.ts'
import { familyOfSet } from './role-sets.ts'

/**
 * Pieces of rules in exactly the form and order in which `iptables-save` prints
 * them (source, destination, protocol, matches, target), so that what we render
 * and what the kernel holds compare as text.
 */
export function from(source: Cidr | undefined): string {
  return source === undefined || source.endsWith('/0') ? '' : `-s ${source} `
}

/** The negation of `from`; `source` must not have length 0, which the nft variant refuses. */
export function notFrom(source: Cidr): string {
  return `! -s ${source} `
}

/** One address, as a host network. */
export function to(ip: IpAddress): string {
  return `-d ${hostCidr(ip)} `
}

/** `-p tcp -m tcp --dport 80 ` */
export function dport(protocol: Protocol, port: number | string): string {
  const name = protocol.toLowerCase()
  return `-p ${name} -m ${name} --dport ${port} `
}

/**
 * The description of an object of a kind that several modes have: chains, jumps, sets, members and policy routes;
 * undefined for kinds that only one mode has. `rules` is the number of rules of a chain.
 */
export function describe(key: ObjectKey, rules: number): ObjectDescription | undefined {
  switch (kindOf(key)) {
    case 'rule': {
      const { kind, family, table } = objectOf(key)
      return { kind, family, rules: { table, count: kind === 'jump' ? 1 : rules } }
    }
    case 'set':
      return { kind: 'set', family: familyOfSet(nameOf(key)) }
    case 'member':
      return { kind: 'set_member', family: familyOfSet(memberOf(key).set) }
    case 'route':
      return { kind: 'route', family: nameOf(key) === '6' ? 6 : 4 }
    default:
      return undefined
  }
}
