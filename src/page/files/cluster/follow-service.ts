import type { ClusterApi } from '../data/cluster-api.ts'
import { collect } from '../data/connection.ts'
import { eachOf, repeat, type Visibility, within } from '../data/schedule.ts'
import type { Store } from '../data/store.ts'
import { backendSample } from '../node/services.ts'
import type { NodeService } from './cluster-services.ts'
import { type ClusterState, listed } from './cluster-state.ts'
import { failureOf } from './node-reading.ts'

/** A Service on every node. */
export interface ServiceOverNodes {
  readonly services: readonly NodeService[]
  /** Whether its endpoints have topology hints; false where that cannot be read. */
  readonly hasHints: boolean
  /** How often all nodes were read. */
  readonly rounds: number
}

export const UNREAD: ServiceOverNodes = { services: [], hasHints: false, rounds: 0 }

/** A round is two requests for each node, so rounds are less frequent with many nodes. */
const MIN_ROUND_MS = 3_000
const ROUND_MS_PER_NODE = 40
const AT_ONCE = 8
/** Milliseconds for both requests to a node. */
const TIMEOUT_MS = 10_000
/** Answers that arrive within this time, in milliseconds, change the page once. */
const TOGETHER_MS = 1_000

interface Following {
  readonly service: string
  readonly state: ClusterState
  readonly found: Store<ServiceOverNodes>
  readonly visibility: Visibility
  readonly signal: AbortSignal
}

/** Keeps what every node has of a Service up to date while the page is visible, until the signal. */
export function followService(api: ClusterApi, following: Following): void {
  const { service, state, found, visibility, signal } = following
  const round = async (): Promise<void> => {
    const nodes = await listed(state, signal)
    const names = nodes.map(({ metadata }) => metadata.name)
    const known = new Map(found.value.services.map((one) => [one.node, one]))
    const services = names.map((name) => known.get(name) ?? unreadService(name))
    let { hasHints } = found.value
    const write = (rounds: number): void => {
      if (!signal.aborted) found.set({ services: [...services], hasHints, rounds })
    }
    const { rounds } = found.value
    write(rounds)
    hasHints = await api.hasHints(service, signal).catch(() => false)
    const timer = setInterval(() => write(rounds), TOGETHER_MS)
    await eachOf([...services.keys()], AT_ONCE, async (index) => {
      const old = services[index]
      if (old !== undefined) services[index] = await readOne(api, old, following)
    })
    clearInterval(timer)
    write(rounds + 1)
  }
  const timing = () => ({ everyMs: roundMs(found.value), restFactor: 2 })
  void repeat(round, timing, visibility, signal)
}

/** Milliseconds to the next round. A rate needs two readings, so the second round comes soon. */
function roundMs({ services, rounds }: ServiceOverNodes): number {
  const everyMs = Math.max(MIN_ROUND_MS, services.length * ROUND_MS_PER_NODE)
  return rounds === 1 ? everyMs / 2 : everyMs
}

function unreadService(node: string): NodeService {
  return { node, entries: undefined, samples: [undefined, undefined], failure: '' }
}

/** Reads the Service on one node. Never throws. A node whose status cannot be read is skipped. */
async function readOne(
  api: ClusterApi,
  old: NodeService,
  { service, state, signal }: Following,
): Promise<NodeService> {
  const { node, samples } = old
  const silent = state.readings.value.get(node)?.failure
  if (silent !== undefined) return { ...unreadService(node), failure: silent.message }
  const proxy = api.node(node)
  try {
    const [found, counted] = await within(TIMEOUT_MS, signal, async (inTime) => [
      await collect(proxy.entries(service, inTime)),
      await collect(proxy.traffic(service, inTime)),
    ])
    const backends = counted.flatMap((one) => one.backends ?? [])
    const sample = backendSample(performance.now(), backends)
    return { node, entries: found, samples: [samples[1], sample], failure: '' }
  } catch (error) {
    return { ...old, failure: failureOf(error).message }
  }
}
