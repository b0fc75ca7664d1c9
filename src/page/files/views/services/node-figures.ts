import { html } from 'htm/preact'
import type { NodeState } from '../../node/node-state.ts'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatCountOf,
  formatMs,
  formatRate,
} from '../../text/format.ts'
import { ratesBetween, type TrafficSample } from '../../traffic/traffic-rates.ts'
import { Figures } from '../parts/figures.ts'
import { useStore } from '../parts/use-store.ts'

/** The node in numbers. */
export function NodeFigures({ state }: { readonly state: NodeState }) {
  const { services, entries, backends, programming, ...status } = useStore(state.status) ?? {}
  const [before, after] = useStore(state.traffic)
  const waiting = Number(status.waitingMs ?? 0)
  const { connections, bytes } = sumOfRates(before, after)
  const { p50Ms, p99Ms, count = 0 } = programming ?? {}
  const latency = count === 0 ? undefined : (p50Ms ?? 0)
  const startedAt = Number(status.startedAt ?? 0)
  const figures = [
    { name: 'Services', value: formatCount(services), detail: formatCountOf(entries ?? 0, 'port') },
    { name: 'Backends', value: formatCount(backends) },
    { name: 'Connections', value: perSecond(formatRate(connections), connections) },
    { name: 'Traffic', value: perSecond(formatBytes(bytes), bytes) },
    {
      name: 'Latency',
      value: formatMs(latency),
      detail: `p99 ${formatMs(latency === undefined ? undefined : (p99Ms ?? 0))}`,
    },
    {
      name: 'Waiting',
      value: waiting === 0 ? 'none' : formatAge(waiting),
      isBad: waiting > 10_000,
    },
    { name: 'Memory', value: formatBytes(memoryOf(status.residentMemory)) },
    { name: 'Running for', value: startedAt === 0 ? '–' : formatAge(Date.now() - startedAt) },
  ]
  return html`<${Figures} label="This node" figures=${figures} />`
}

function perSecond(text: string, value: number | undefined): string {
  return value === undefined ? text : `${text}/s`
}

function memoryOf(bytes: string | undefined): number | undefined {
  return bytes === undefined ? undefined : Number(bytes)
}

function sumOfRates(before: TrafficSample | undefined, after: TrafficSample | undefined) {
  let connections: number | undefined
  let bytes: number | undefined
  for (const name of after?.counts.keys() ?? []) {
    const rates = after === undefined ? undefined : ratesBetween(before, after, name)
    if (rates?.connections !== undefined) connections = (connections ?? 0) + rates.connections
    if (rates?.bytes !== undefined) bytes = (bytes ?? 0) + rates.bytes
  }
  return { connections, bytes }
}
