import type { ClusterApi } from '../data/cluster-api.ts'
import { collect } from '../data/connection.ts'
import type { ServiceMessage } from '../data/node-api.ts'
import { repeat, type Visibility } from '../data/schedule.ts'
import type { Store } from '../data/store.ts'
import type { ClusterState } from './cluster-state.ts'
import { failureOf, type NodeReadings } from './node-reading.ts'

/** Added to the age of a node that is not ready, so that ready nodes come first. */
const NOT_READY_MS = Number.MAX_SAFE_INTEGER / 2

/** The Services of the cluster, as one node lists them. */
export interface ServiceList {
  /** Undefined: no node has answered yet. */
  readonly services: readonly ServiceMessage[] | undefined
  /** The node that listed them; empty: none yet. */
  readonly node: string
  /** Why the last request failed; empty: it did not. */
  readonly failure: string
}

export const NO_SERVICES: ServiceList = { services: undefined, node: '', failure: '' }

/** Not often, because the list of ten thousand Services is a megabyte. */
const EVERY = { everyMs: 10_000, restFactor: 10 }
/** The period before a node has answered. */
const SOON = { everyMs: 250 }

interface Following {
  readonly state: ClusterState
  readonly list: Store<ServiceList>
  readonly visibility: Visibility
  readonly signal: AbortSignal
}

/** Keeps the list of the node with the newest state up to date while the page is visible, until the signal. */
export function followServices(api: ClusterApi, following: Following): void {
  const { state, list, visibility, signal } = following
  const read = async (): Promise<void> => {
    const node = newestNode(state.readings.value, list.value.node)
    if (node === undefined) return
    try {
      const services = await collect(api.node(node).services(signal))
      list.set({ services, node, failure: '' })
    } catch (error) {
      if (signal.aborted) return
      list.set({ ...list.value, failure: `${node}: ${failureOf(error).message}` })
    }
  }
  const timing = () => (list.value.services === undefined ? SOON : EVERY)
  void repeat(read, timing, visibility, signal)
}

/**
 * The node whose state is the newest: it is ready, and its oldest waiting change has waited for the shortest time.
 * Returns `current` as long as no other node is newer. Undefined: no node answers.
 */
export function newestNode(
  readings: NodeReadings,
  current: string | undefined,
): string | undefined {
  let best: { readonly name: string; readonly age: number } | undefined
  for (const [name, { status, failure }] of readings) {
    if (status === undefined || failure !== undefined) continue
    const age = Number(status.waitingMs ?? 0) + (status.isReady === true ? 0 : NOT_READY_MS)
    const isNewer = best === undefined || age < best.age || (age === best.age && name === current)
    if (isNewer) best = { name, age }
  }
  return best?.name
}
