import type { Listed, NamedOperation } from './history.ts'
import { seenObject } from './service-request.ts'
import type { WatchLine } from './watch-log.ts'

/**
 * Acknowledged writes that the changes do not show exactly once, and changes that
 * no client requested.
 */
export function unmatchedWrites(
  operations: readonly NamedOperation[],
  changes: readonly WatchLine[],
): readonly string[] {
  const versions = new Map(changes.map((change) => [change.version, change]))
  const writes = operations.filter(({ input }) => input.verb !== 'read')
  const tokens = new Set(writes.flatMap(({ input }) => tokenOf(input)))
  const missing = writes.flatMap(({ name, input, answer }) => {
    if (answer?.output.result !== 'object') return []
    const { object } = answer.output
    const change = versions.get(object.version)
    const seen = change?.name === name && change.type !== 'DELETED' && seenObject(change.object)
    const isShown = seen && seen.written === object.written && seen.patched === object.patched
    return isShown
      ? []
      : [`${input.verb} ${name} at ${object.version} was acknowledged and is lost`]
  })
  const alien = changes.filter(
    ({ type, object }) => type !== 'DELETED' && !isRequested(seenObject(object), tokens),
  )
  return [
    ...missing,
    ...alien.map(
      ({ type, name, version }) => `${type} ${name} at ${version}: no client requested it`,
    ),
    ...[...new Set(operations.map(({ name }) => name))].flatMap((name) =>
      unmatchedDeletions(
        operations.filter((one) => one.name === name),
        changes.filter((one) => one.name === name),
      ),
    ),
  ]
}

function tokenOf(input: NamedOperation['input']): readonly string[] {
  const written = 'written' in input ? [input.written] : []
  return 'patched' in input ? [...written, input.patched] : written
}

function isRequested(
  { written, patched }: { readonly written: string; readonly patched: string },
  tokens: ReadonlySet<string>,
): boolean {
  return tokens.has(written) && (patched === '' || tokens.has(patched))
}

/** Deletions have no version of their own; they are counted. */
function unmatchedDeletions(
  operations: readonly NamedOperation[],
  changes: readonly WatchLine[],
): readonly string[] {
  const requested = operations.filter(({ input }) => input.verb === 'delete')
  const done = requested.filter(({ answer }) => answer?.output.result === 'deleted').length
  const lost = requested.filter(({ answer }) => answer === undefined).length
  const shown = changes.filter(({ type }) => type === 'DELETED').length
  if (shown >= done && shown <= done + lost) return []
  const name = operations[0]!.name
  return [`${name} was deleted ${shown} times; ${done} were acknowledged, ${lost} not answered`]
}

/**
 * Compares versions with time: what was answered before something else was called must have the smaller version. A list
 * counts as later than the write of its version.
 */
export function orderFaults(
  operations: readonly NamedOperation[],
  lists: readonly Listed[],
): readonly string[] {
  const points = [
    ...operations.flatMap(({ name, input, called, answer }) => {
      if (input.verb === 'read' || answer?.output.result !== 'object') return []
      const { version } = answer.output.object
      return [{ what: `${input.verb} ${name}`, version, called, answered: answer.at }]
    }),
    ...lists.map(({ version, called, answered }) => ({
      what: 'a list',
      version: version + 0.5,
      called,
      answered,
    })),
  ].sort((a, b) => a.version - b.version)
  const faults: string[] = []
  let last = points[0]
  for (const point of points) {
    if (point.answered < last!.called) {
      faults.push(
        `${point.what} at ${point.version} was over before ${last!.what} at ${last!.version} began`,
      )
    }
    if (point.called > last!.called) last = point
  }
  return faults
}
