import type { Rule } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { SET } from '../keys/names.ts'
import {
  DESTINATION_PORT,
  destinationAddress,
  PROTOCOL,
  randomIndex,
} from '../statements/fields.ts'
import { FROM_NODE, notFromPods } from '../statements/matches.ts'
import { setMark, translate } from '../statements/statements.ts'

/** By which maps a packet found its frontend. */
export type MapPrefix = '' | 'inside-' | 'node-port-' | 'inside-node-port-'

/** Whose packets are masqueraded: none, all, those not from pods, those from the node itself. */
export type MarkClass = '' | '-masquerade' | '-off-cluster' | '-on-node'

const ENDPOINTS: Readonly<Record<MapPrefix, string>> = {
  '': SET.endpoints,
  'inside-': SET.insideEndpoints,
  'node-port-': SET.nodePortEndpoints,
  'inside-node-port-': SET.insideNodePortEndpoints,
}

/** `choose-3`, `inside-node-port-choose-12-on-node`. */
export function choiceChain(prefix: MapPrefix, choices: number, mark: MarkClass): string {
  return `${prefix}choose-${choices}${mark}`
}

const NAME = /^((?:inside-)?(?:node-port-)?)choose-(\d+)(-masquerade|-off-cluster|-on-node)?$/

/** The rules of a choice chain, by its name; undefined: a chain of another kind. */
export function choiceRules(
  name: string,
  settings: NetfilterSettings,
  family: Family,
): readonly Rule[] | undefined {
  const [, prefix, choices, mark = ''] = NAME.exec(name) ?? []
  if (prefix === undefined) return undefined
  const fields = [PROTOCOL, DESTINATION_PORT, randomIndex(Number(choices))]
  const keys = prefix.endsWith('node-port-') ? fields : [destinationAddress(family), ...fields]
  return [
    ...markRules(mark as MarkClass, settings, family),
    { expressions: translate(family, ENDPOINTS[prefix as MapPrefix], ...keys) },
  ]
}

/** The rules that mark the packets of a class. */
export function markRules(
  mark: MarkClass,
  settings: NetfilterSettings,
  family: Family,
): readonly Rule[] {
  if (mark === '') return []
  const others = notFromPods(settings, family) ?? []
  const match = {
    '-masquerade': [],
    '-off-cluster': others,
    '-on-node': [...others, ...FROM_NODE],
  }[mark]
  return [{ expressions: [...match, ...setMark(1 << settings.masqueradeBit)] }]
}
