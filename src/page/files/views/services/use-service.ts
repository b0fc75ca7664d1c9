import { useEffect, useState } from 'preact/hooks'
import { collect } from '../../data/collect.ts'
import type { EntryMessage } from '../../data/messages.ts'
import type { NodeApi } from '../../data/node-api.ts'
import { repeat } from '../../data/repeat.ts'
import { messageOf } from '../../node/follow-node.ts'
import { backendSample } from '../../services/service-entries.ts'
import type { TrafficSample } from '../../traffic/traffic-rates.ts'

/** What is read of one Service while its details are seen. */
export interface ServiceDetails {
  /** Undefined: they are not read yet. */
  readonly entries: readonly EntryMessage[] | undefined
  readonly samples: readonly [TrafficSample | undefined, TrafficSample | undefined]
  readonly failure: string
}

const EVERY = { everyMs: 2_000, restFactor: 10 }
const UNREAD: ServiceDetails = { entries: undefined, samples: [undefined, undefined], failure: '' }

/** Reads a Service again and again: its entries, and then what was forwarded to its backends. */
export function useService(api: NodeApi, service: string): ServiceDetails {
  const [details, setDetails] = useState(UNREAD)
  useEffect(() => {
    const closed = new AbortController()
    const { signal } = closed
    const read = async (): Promise<void> => {
      try {
        const entries = await collect(api.entries(service, signal))
        setDetails((old) => ({ ...old, entries, failure: '' }))
        const traffic = await collect(api.traffic(service, signal))
        const backends = traffic.flatMap((one) => one.backends ?? [])
        const sample = backendSample(performance.now(), backends)
        setDetails((old) => ({ ...old, samples: [old.samples[1], sample] }))
      } catch (error) {
        if (!signal.aborted) setDetails((old) => ({ ...old, failure: messageOf(error) }))
      }
    }
    void repeat(read, () => EVERY, document, signal)
    return () => closed.abort()
  }, [api, service])
  return details
}
