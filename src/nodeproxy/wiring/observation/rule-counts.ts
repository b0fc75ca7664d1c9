import type { Family } from '../../../lib/ip.ts'
import type { ObjectDescription } from '../../../modes/mode.ts'

/** A number of packet filter rules. */
export interface RuleCount {
  readonly table: string
  readonly family: Family
  readonly count: number
}

/** Counts the packet filter rules of these objects, by table and family; objects without rules are skipped. */
export function ruleCounts(objects: Iterable<ObjectDescription>): readonly RuleCount[] {
  const totals = new Map<string, RuleCount>()
  for (const { family, rules } of objects) {
    if (rules === undefined || family === undefined) continue
    const { table } = rules
    const key = `${table} ${family}`
    const count = (totals.get(key)?.count ?? 0) + rules.count
    totals.set(key, { table, family, count })
  }
  return [...totals.values()]
}
