import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { KernelModules } from '../../kernel/kernel-modules.ts'
import type { Family } from '../../lib/ip.ts'
import type { MissingRequirement } from '../mode.ts'

/** What rules are written with, and the modules behind them. */
export interface Netfilter {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly modules: KernelModules
}

/** Whether this daemon can write rules, or what it would take. */
export type RulesAccess =
  | { readonly ok: true }
  | { readonly ok: false; readonly missing: MissingRequirement }

/** Rules, or why this daemon cannot write any: then only modes that need none can work. */
export type NetfilterAccess =
  | { readonly ok: true; readonly parts: Netfilter; readonly families: readonly Family[] }
  | Extract<RulesAccess, { ok: false }>

/** What a mode lacks that cannot do without rules. */
export function missingRules(access: RulesAccess): readonly MissingRequirement[] {
  return access.ok ? [] : [access.missing]
}
