import { messageOf } from '../data/connection.ts'
import type { NodeApi, ServiceMessage } from '../data/node-api.ts'
import { pause, repeat, seen, type Visibility } from '../data/schedule.ts'
import { addChanges } from './latency-series.ts'
import type { NodeState } from './node-state.ts'
import { serviceCounts, type TrafficCounts } from './traffic-rates.ts'

const STATUS = { everyMs: 2_000 }
/** The list of ten thousand Services is a megabyte, so it is read again after a change, and otherwise rarely. */
const SERVICES = { everyMs: 2_000, restFactor: 10 }
const MAX_SERVICES_AGE_MS = 30_000
/** Counters of all Services are expensive for the kernel, so they are read for a small part of the time. */
const TRAFFIC = { everyMs: 5_000, restFactor: 15 }
/** The period until there are the two readings that a rate needs. */
const FIRST_TRAFFIC = { ...TRAFFIC, everyMs: 1_500 }
const RECONNECT_MS = 2_000

/** Keeps the state of a node up to date while the page is visible, until the signal. */
export function followNode(
  api: NodeApi,
  state: NodeState,
  visibility: Visibility,
  signal: AbortSignal,
): void {
  const services = servicesReader(api, state, signal)
  const trafficTiming = () => (state.traffic.value[0] === undefined ? FIRST_TRAFFIC : TRAFFIC)
  void repeat(
    () => readStatus(api, state, signal),
    () => STATUS,
    visibility,
    signal,
  )
  void repeat(
    () => services.read(),
    () => SERVICES,
    visibility,
    signal,
  )
  void repeat(() => readTraffic(api, state, signal), trafficTiming, visibility, signal)
  void followChanges(api, { state, onChange: services.outdate, visibility, signal })
}

async function readStatus(api: NodeApi, state: NodeState, signal: AbortSignal): Promise<void> {
  try {
    state.status.set(await api.status(signal))
    state.failure.set(undefined)
  } catch (error) {
    if (!signal.aborted) state.failure.set(messageOf(error))
  }
}

function servicesReader(api: NodeApi, state: NodeState, signal: AbortSignal) {
  let isOutdated = true
  let readAt = Number.NEGATIVE_INFINITY
  return {
    outdate: () => {
      isOutdated = true
    },
    async read(): Promise<void> {
      if (!isOutdated && performance.now() - readAt < MAX_SERVICES_AGE_MS) return
      isOutdated = false
      try {
        const all: ServiceMessage[] = []
        for await (const some of api.services(signal)) all.push(...some)
        state.services.set(all)
        readAt = performance.now()
      } catch {
        isOutdated = true
      }
    },
  }
}

async function readTraffic(api: NodeApi, state: NodeState, signal: AbortSignal): Promise<void> {
  try {
    const counts = new Map<string, TrafficCounts>()
    for await (const some of api.traffic('', signal)) {
      for (const one of some) counts.set(one.service, serviceCounts(one))
    }
    const [, last] = state.traffic.value
    state.traffic.set([last, { at: performance.now(), counts }])
    state.trafficFailure.set(undefined)
  } catch (error) {
    if (!signal.aborted) state.trafficFailure.set(messageOf(error))
  }
}

interface Following {
  readonly state: NodeState
  readonly onChange: () => void
  readonly visibility: Visibility
  readonly signal: AbortSignal
}

/**
 * Follows the stream of changes. It starts with the last changes, so each connection replaces what the previous one
 * read.
 */
async function followChanges(api: NodeApi, following: Following): Promise<void> {
  const { state, onChange, visibility, signal } = following
  while (!signal.aborted) {
    await seen(visibility, signal)
    let isFirst = true
    try {
      for await (const changes of api.changes(signal)) {
        state.latency.set(addChanges(isFirst ? [] : state.latency.value, changes))
        isFirst = false
        onChange()
      }
    } catch {
      // The status shows what is wrong; the stream is opened again.
    }
    await pause(RECONNECT_MS, signal)
  }
}
