import type { ClusterApi } from '../data/cluster-api.ts'
import { repeat, type Visibility } from '../data/repeat.ts'
import type { ClusterState } from './cluster-state.ts'
import { eachOf } from './each-of.ts'
import { failureOf } from './failure-of.ts'
import { listed } from './listed.ts'
import { StatusReader } from './status-reader.ts'

/** Nodes come and go seldom; their objects are large. */
const LIST = { everyMs: 30_000, restFactor: 10 }
const LIST_AGAIN = { everyMs: 3_000 }
/** The more nodes there are, the more rarely each is read: every 3 s, or 20 ms for each. */
const MIN_ROUND_MS = 3_000
const ROUND_MS_PER_NODE = 20
const SILENT_ROUND_MS = 1_000
/** Nodes that do not answer take seconds each, so they never hold up the others. */
const [AT_ONCE, SILENT_AT_ONCE] = [6, 2]

/** Keeps the list of Nodes as it is, while the page is seen, until the signal. */
export function followNodes(
  api: ClusterApi,
  state: ClusterState,
  visibility: Visibility,
  signal: AbortSignal,
): void {
  const read = async (): Promise<void> => {
    try {
      state.nodes.set(await api.nodes(signal))
      state.failure.set(undefined)
    } catch (error) {
      if (!signal.aborted) state.failure.set(failureOf(error))
    }
  }
  const timing = () => (state.failure.value === undefined ? LIST : LIST_AGAIN)
  void repeat(read, timing, visibility, signal)
}

/** Keeps the statuses of all nodes as they are, while the page is seen, until the signal. */
export function followStatuses(
  api: ClusterApi,
  state: ClusterState,
  visibility: Visibility,
  signal: AbortSignal,
): void {
  const reader = new StatusReader(api, state.readings, signal)
  const names = async (isWanted: (name: string) => boolean) => {
    const nodes = await listed(state, signal)
    return nodes.map(({ metadata }) => metadata.name).filter(isWanted)
  }
  const prompt = async () =>
    eachOf(await names((name) => !reader.isSilent(name)), AT_ONCE, (name) => reader.read(name))
  const silent = async () =>
    eachOf(await names((name) => reader.isDue(name)), SILENT_AT_ONCE, (name) =>
      reader.readSilent(name),
    )
  const timing = () => ({ everyMs: roundMs(state.nodes.value?.length ?? 0), restFactor: 2 })
  void repeat(prompt, timing, visibility, signal)
  void repeat(silent, () => ({ everyMs: SILENT_ROUND_MS }), visibility, signal)
}

/** Milliseconds between two rounds over so many nodes. */
export function roundMs(nodes: number): number {
  return Math.max(MIN_ROUND_MS, nodes * ROUND_MS_PER_NODE)
}
