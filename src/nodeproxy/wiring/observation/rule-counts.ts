import type { Family } from '../../../lib/ip.ts'
import type { ObjectDescription } from '../../../modes/mode.ts'

export interface RuleCount {
  readonly table: string
  readonly family: Family
  readonly count: number
}

/** Packet filter rules in these objects, by table and family; those without rules do not count. */
export function ruleCounts(objects: Iterable<ObjectDescription>): readonly RuleCount[] {
  const totals = new Map<string, RuleCount>()
  for (const { family, rules } of objects) {
    if (rules === undefined || family === undefined) continue
    const { table } = rules
    const place = `${table} ${family}`
    const count = (totals.get(place)?.count ?? 0) + rules.count
    totals.set(place, { table, family, count })
  }
  return [...totals.values()]
}
