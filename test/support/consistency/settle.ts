import type { Listed, NamedOperation } from './history.ts'
import { seenObject } from './service-request.ts'
import type { WatchLine } from './watch-log.ts'

/**
 * What watchers know of operations that were never answered: a write whose
 * token they saw has happened, with the version of the first change that shows it; one that
 * they did not see has not. Deletions carry no token and stay open. This is how
 * etcd's robustness tests keep the search for an order short.
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

/** What a list says about each of these objects, as reads. */
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
