import { isDeepEqual } from '../../../src/lib/equal.ts'
import { applyChange, differences } from './fold.ts'
import type { Listed } from './history.ts'
import { changesOf, type WatchLine, type WatchLog } from './watch-log.ts'

/**
 * What is wrong with the stream of one watcher: versions that do not rise, a change at or before a bookmark, a change
 * that is impossible after the ones before, or a version from which it could not resume.
 */
export function streamFaults({ watcher, start, lines }: WatchLog): readonly string[] {
  const present = new Set(start.objects.keys())
  const faults: string[] = []
  let known = start.version
  for (const line of lines) {
    const { type, version, name } = line
    const what = `${watcher}: ${type} ${name} at ${version}`
    if (type === 'BOOKMARK') {
      if (version < known) faults.push(`${what} after ${known}`)
    } else if (type === 'EXPIRED') faults.push(`${what}: it could not resume`)
    else {
      if (version <= known) faults.push(`${what} after ${known}`)
      if (present.has(name) === (type === 'ADDED')) faults.push(`${what}: not what was there`)
      if (type === 'DELETED') present.delete(name)
      else present.add(name)
    }
    known = Math.max(known, version)
  }
  return faults
}

/** Where watchers saw different changes, from the version at which the last of them began up to `end`. */
export function disagreements(logs: readonly WatchLog[], end: number): readonly string[] {
  const begin = Math.max(...logs.map(({ start }) => start.version))
  const [first, ...others] = logs.map((log) => ({
    watcher: log.watcher,
    changes: changesOf(log).filter(({ version }) => version > begin && version <= end),
  }))
  return others.flatMap(({ watcher, changes }) => {
    const at = changes.findIndex((change, index) => !isSame(change, first!.changes[index]))
    if (at < 0 && changes.length === first!.changes.length) return []
    const index = at < 0 ? changes.length : at
    const [mine, theirs] = [changes[index], first!.changes[index]].map(shortly)
    return [`change ${index} is ${mine} for ${watcher}, ${theirs} for ${first!.watcher}`]
  })
}

/** Lists that differ from the result of the changes up to their version. */
export function foldFaults(log: WatchLog, lists: readonly Listed[]): readonly string[] {
  const state = new Map(log.start.objects)
  const changes = [...changesOf(log)]
  const faults: string[] = []
  for (const list of [...lists].sort((a, b) => a.version - b.version)) {
    if (list.version < log.start.version) continue
    while (changes[0] !== undefined && changes[0].version <= list.version) {
      applyChange(state, changes.shift()!)
    }
    const differing = differences(state, list.objects)
    if (differing.length === 0) continue
    faults.push(`${log.watcher}: the list at ${list.version} differs in ${differing.join()}`)
  }
  return faults
}

function isSame(one: WatchLine, other: WatchLine | undefined): boolean {
  return isDeepEqual(one, other)
}

function shortly(line: WatchLine | undefined): string {
  return line === undefined ? 'nothing' : `${line.type} ${line.name} at ${line.version}`
}
