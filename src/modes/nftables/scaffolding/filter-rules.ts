import type { Rule } from '../../../kernel/nftables/objects.ts'
import type { Cidr, Family } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { CHAIN, SET } from '../keys/names.ts'
import { destinationAddress } from '../statements/fields.ts'
import * as match from '../statements/matches.ts'
import * as statement from '../statements/statements.ts'
import { rangesOf } from './sets.ts'

const { rule } = statement

export const LOOPBACK = { 4: '127.0.0.0/8', 6: '::1/128' } as unknown as Readonly<
  Record<Family, Cidr>
>

/**
 * The refusal of connections to unused addresses and ports of a Service range, after `unserved`. Not in INPUT: packets
 * that another mode has delivered to this node by a policy route keep the address of their Service there. An address
 * of a range that this node has (a cache of DNS names on a dummy interface) is in use and not refused.
 */
export function inRanges(settings: NetfilterSettings, family: Family): readonly Rule[] {
  if (rangesOf(settings, family).length === 0) return []
  return [
    rule(
      statement.isIn(SET.serviceRanges, destinationAddress(family)),
      match.hasState(match.STATE.new),
      match.IS_NOT_TRANSLATED,
      match.NOT_TO_NODE,
      statement.goto(CHAIN.rejected),
    ),
  ]
}

/** Drops foreign packets for loopback, which a kernel that routes it would deliver (CVE-2020-8558). */
export function martians(settings: NetfilterSettings, family: Family): readonly Rule[] {
  if (family === 6 || !settings.dropMartians) return []
  return [
    rule(
      match.from(LOOPBACK[4], 'different'),
      match.to(LOOPBACK[4]),
      match.hasNotState(match.STATE.established | match.STATE.related),
      match.IS_NOT_TRANSLATED,
      statement.verdict('drop'),
    ),
  ]
}

export function invalid({ dropInvalid }: NetfilterSettings): readonly Rule[] {
  return dropInvalid ? [rule(match.hasState(match.STATE.invalid), statement.verdict('drop'))] : []
}
