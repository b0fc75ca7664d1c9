import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { KernelModules } from '../../kernel/kernel-modules.ts'
import type { Family } from '../../lib/ip.ts'
import type { MissingRequirement } from '../mode.ts'

/** The kernel interfaces that a mode needs to write rules. */
export interface Netfilter {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly modules: KernelModules
}

/** Whether this daemon has the right to write rules, and if not, what is missing. */
export type RulesAccess =
  | { readonly ok: true }
  | { readonly ok: false; readonly missing: MissingRequirement }

/** The interfaces to write rules by iptables, or what is missing for that. Modes that need none of them work without. */
export type NetfilterAccess =
  | { readonly ok: true; readonly parts: Netfilter; readonly families: readonly Family[] }
  | Extract<RulesAccess, { ok: false }>

/** The missing requirements of a mode that cannot work without rules. */
export function missingRules(access: RulesAccess): readonly MissingRequirement[] {
  return access.ok ? [] : [access.missing]
}
