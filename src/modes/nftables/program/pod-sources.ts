import { text } from '../../../kernel/nftables/rules/encode.ts'
import { INPUT_INTERFACE } from '../../../kernel/nftables/rules/fields.ts'
import { from } from '../../../kernel/nftables/rules/matches.ts'
import { compare, type Statement } from '../../../kernel/nftables/rules/statements.ts'
import { type Family, familyOf } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'

const INTERFACE_NAME_BYTES = 16

/** Matches packets from pods; undefined if the settings identify no pods of this family. */
export function fromPods(settings: NetfilterSettings, family: Family): Statement | undefined {
  return matchPods(settings, family, 'equal')
}

/** The negation of `fromPods`; also undefined if every source counts as a pod. */
export function notFromPods(settings: NetfilterSettings, family: Family): Statement | undefined {
  return matchPods(settings, family, 'different')
}

/** Whether `notFromPods` is defined. */
export function distinguishesPods({ localTraffic }: NetfilterSettings, family: Family): boolean {
  if (localTraffic.by !== 'source') return localTraffic.by !== 'none'
  const cidr = localTraffic.cidrs.find((candidate) => familyOf(candidate) === family)
  return cidr !== undefined && !cidr.endsWith('/0')
}

/** Whether every packet counts as coming from a pod. */
export function isEverySourcePod({ localTraffic }: NetfilterSettings, family: Family): boolean {
  if (localTraffic.by !== 'source') return false
  return localTraffic.cidrs.find((cidr) => familyOf(cidr) === family)?.endsWith('/0') ?? false
}

function matchPods(
  settings: NetfilterSettings,
  family: Family,
  is: 'equal' | 'different',
): Statement | undefined {
  const { localTraffic } = settings
  switch (localTraffic.by) {
    case 'source': {
      const cidr = localTraffic.cidrs.find((candidate) => familyOf(candidate) === family)
      if (cidr === undefined) return undefined
      if (!isEverySourcePod(settings, family)) return from(cidr, is)
      return is === 'equal' ? [] : undefined
    }
    case 'bridge': {
      const name = Buffer.alloc(INTERFACE_NAME_BYTES)
      text(localTraffic.name).copy(name)
      return compare(INPUT_INTERFACE, is, name)
    }
    case 'interfacePrefix':
      return compare(INPUT_INTERFACE, is, text(localTraffic.prefix))
    case 'none':
      return undefined
  }
}
