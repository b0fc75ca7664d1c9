import type { ClusterApi } from '../data/cluster-api.ts'
import { collect } from '../data/collect.ts'
import type { ServiceMessage } from '../data/messages.ts'
import { repeat, type Visibility } from '../data/repeat.ts'
import type { Store } from '../data/store.ts'
import { newestNode } from '../nodes/choose-node.ts'
import type { ClusterState } from './cluster-state.ts'
import { failureOf } from './failure-of.ts'

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

/** The list of ten thousand Services is a megabyte. */
const EVERY = { everyMs: 10_000, restFactor: 10 }
/** Before a node has answered. */
const SOON = { everyMs: 250 }

interface Following {
  readonly state: ClusterState
  readonly list: Store<ServiceList>
  readonly visibility: Visibility
  readonly signal: AbortSignal
}

/** Keeps the list as the node with the newest state has it, while the page is seen, until the signal. */
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
