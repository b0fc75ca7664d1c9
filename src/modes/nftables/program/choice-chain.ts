import type { Rule } from '../../../kernel/nftables/objects.ts'
import {
  DESTINATION_PORT,
  destinationAddress,
  PROTOCOL,
  randomIndex,
} from '../../../kernel/nftables/rules/fields.ts'
import { FROM_NODE } from '../../../kernel/nftables/rules/matches.ts'
import { setMark, translate } from '../../../kernel/nftables/rules/statements.ts'
import type { Family } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { SET } from '../keys/names.ts'
import { notFromPods } from './pod-sources.ts'

/** The maps in which a packet found its frontend. */
export type MapPrefix = '' | 'inside-' | 'node-port-' | 'inside-node-port-'

/** Whose packets are masqueraded: none, all, those not from pods, those from the node itself. */
export type MarkClass = '' | '-masquerade' | '-off-cluster' | '-on-node'

const ENDPOINTS: Readonly<Record<MapPrefix, string>> = {
  '': SET.endpoints,
  'inside-': SET.insideEndpoints,
  'node-port-': SET.nodePortEndpoints,
  'inside-node-port-': SET.insideNodePortEndpoints,
}

/**
 * The first index of the choices of each class; the distance is larger than the number of choices. A packet may read
 * the verdict from before a change and the choice from after it. If the class changed, the packet finds no choice, and
 * so is not sent to a backend with a source address that is no longer right.
 */
export const FIRST_INDEX: Readonly<Record<MarkClass, number>> = {
  '-off-cluster': 0,
  '': 1_000_000,
  '-masquerade': 2_000_000,
  /** The only class in its maps. */
  '-on-node': 0,
}

/** `choose-3`, `inside-node-port-choose-12-on-node`. */
export function choiceChain(prefix: MapPrefix, choices: number, mark: MarkClass): string {
  return `${prefix}choose-${choices}${mark}`
}

const NAME = /^((?:inside-)?(?:node-port-)?)choose-(\d+)(-masquerade|-off-cluster|-on-node)?$/

/**
 * The rules of a choice chain, by its name; undefined for other chains. A packet passes the translation only if the
 * chosen index does not exist any more; then it is dispatched again.
 */
export function choiceRules(
  name: string,
  settings: NetfilterSettings,
  family: Family,
): readonly Rule[] | undefined {
  const [, prefix, choices, named = ''] = NAME.exec(name) ?? []
  if (prefix === undefined) return undefined
  const mark = named as MarkClass
  const index = randomIndex(Number(choices), FIRST_INDEX[mark])
  const fields = [PROTOCOL, DESTINATION_PORT, index]
  const keys = prefix.endsWith('node-port-') ? fields : [destinationAddress(family), ...fields]
  return [
    ...markRules(mark, settings, family),
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
