import { allocationFaults } from './allocation-faults.ts'
import { linearize } from './linearize.ts'
import { objectModel } from './object-model.ts'
import type { Run } from './run.ts'
import { readsOf, settle } from './settle.ts'
import { disagreements, foldFaults, streamFaults } from './watch-faults.ts'
import { changesOf, type WatchLine } from './watch-log.ts'
import { orderFaults, unmatchedWrites } from './write-faults.ts'

/** The most operations that a message names. */
const NAMED = 3

/** Everything that is wrong with a run, in words. */
export function runFaults(run: Run): readonly string[] {
  const { operations, lists, watches, end } = run
  const changes = changesOf(watches[0]!).filter(({ version }) => version <= end)
  return [
    ...watches.flatMap(streamFaults),
    ...disagreements(watches, end),
    ...watches.flatMap((log) => foldFaults(log, lists)),
    ...unmatchedWrites(operations, changes),
    ...orderFaults(operations, lists),
    ...allocationFaults(watches[0]!.start, changes),
    ...disorder(run, changes),
  ]
}

/** Services whose history no order of operations explains. */
function disorder({ operations, lists }: Run, changes: readonly WatchLine[]): readonly string[] {
  const byName = Map.groupBy(settle(operations, changes), ({ name }) => name)
  return [...byName].flatMap(([name, own]) => {
    const found = linearize(objectModel, [...own, ...readsOf(lists, name)])
    if (found.verdict === 'linearizable') return []
    const place = `behind ${JSON.stringify(found.order.at(-1))} none of ${JSON.stringify(found.stuck.slice(0, NAMED))}`
    return [`the history of ${name} is not linearizable (${found.verdict}): ${place}`]
  })
}
