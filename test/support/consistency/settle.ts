import type { Listed, NamedOperation } from './history.ts'
import { seenObject } from './service-request.ts'
import type { WatchLine } from './watch-log.ts'

/**
 * Decides, from what watchers saw, about operations that were never answered. A write whose token they saw has
 * happened, with the version of the first change that has the token; a write that they did not see has not. Deletions
 * have no token and stay undecided. The robustness tests of etcd keep the search for an order short in the same way.
 */
export function settle(
  operations: readonly NamedOperation[],
  changes: readonly WatchLine[],
): readonly NamedOperation[] {
  const shown = new Map<string, NamedOperation['answer']>()
  for (const { type, object } of changes) {
    if (type === 'DELETED') continue
    const seen = seenObject(object)
    const answer = {
      at: Number.POSITIVE_INFINITY,
      output: { result: 'object', object: seen },
    } as const
    for (const token of [seen.written, seen.patched]) {
      if (!shown.has(token)) shown.set(token, answer)
    }
  }
  return operations.flatMap((operation) => {
    const { input, answer } = operation
    if (answer !== undefined || input.verb === 'read' || input.verb === 'delete') return [operation]
    const settled = shown.get(input.verb === 'patch' ? input.patched : input.written)
    return settled === undefined ? [] : [{ ...operation, answer: settled }]
  })
}

/** Lists as reads of the object of this name. */
export function readsOf(lists: readonly Listed[], name: string): readonly NamedOperation[] {
  return lists.map(({ called, answered, objects }) => {
    const object = objects.get(name)
    const output =
      object === undefined
        ? ({ result: 'absent' } as const)
        : ({ result: 'object', object: seenObject(object) } as const)
    return { name, client: -1, input: { verb: 'read' }, called, answer: { at: answered, output } }
  })
}
