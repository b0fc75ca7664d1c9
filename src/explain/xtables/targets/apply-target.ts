import type { Branch } from '../../packet/branch.ts'
import { connectionMark, mark, set } from './mark-and-set-targets.ts'
import { dnat, masquerade, redirect, snat } from './nat-targets.ts'
import { result, type TargetEffect, type TargetInput, unclear } from './target-effect.ts'
import { accept, drop, reject, tracking, transparentProxy } from './verdict-targets.ts'

/** Targets that change the packet or end its path; the caller handles RETURN and chains. */
const TARGETS: ReadonlyMap<string, TargetEffect> = new Map([
  ['ACCEPT', accept],
  ['DROP', drop],
  ['REJECT', reject],
  ['DNAT', dnat],
  ['SNAT', snat],
  ['MASQUERADE', masquerade],
  ['REDIRECT', redirect],
  ['MARK', mark],
  ['CONNMARK', connectionMark],
  ['SET', set],
  ['NOTRACK', tracking],
  ['CT', tracking],
  ['TPROXY', transparentProxy],
])

/** Targets without an effect on anything that a walk models: the packet goes on, whether they apply or not. */
const WITHOUT_EFFECT = new Set([
  'LOG',
  'NFLOG',
  'ULOG',
  'AUDIT',
  'TRACE',
  'TEE',
  'CHECKSUM',
  'CLASSIFY',
  'LED',
  'IDLETIMER',
  'TCPMSS',
  'TCPOPTSTRIP',
  'TOS',
  'DSCP',
  'ECN',
  'TTL',
  'HL',
  'RATEEST',
  'SECMARK',
  'CONNSECMARK',
])

/** Whether a rule with this target makes no difference for the packet. */
export function isWithoutEffect(target: string): boolean {
  return WITHOUT_EFFECT.has(target)
}

/** The effect of a target on the packet; that of an unknown target is uncertain. */
export function applyTarget(input: TargetInput): readonly Branch[] {
  const { name } = input.group
  if (WITHOUT_EFFECT.has(name)) return result(input.packet)
  return TARGETS.get(name)?.(input) ?? unclear(input, 'not known')
}
