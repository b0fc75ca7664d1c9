import { html } from 'htm/preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type {
  FrontendJson,
  StatusResponseJson,
} from '../../../inspection/generated/inspection_pb.ts'
import { collect, messageOf } from '../data/connection.ts'
import { type EntryMessage, latencyOf, type NodeApi } from '../data/node-api.ts'
import { repeat } from '../data/schedule.ts'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatCountOf,
  formatMs,
  formatRate,
  formatShown,
  hostPort,
} from '../display/format.ts'
import { explainRoute } from '../display/route.ts'
import { orderedBy, type Selection } from '../display/selection.ts'
import type { NodeState } from '../node/node-state.ts'
import {
  ALL_SERVICES,
  backendRows,
  backendSample,
  isProblem,
  type ServiceRow,
  type SortKey,
  selectServices,
  serviceRows,
  TEXTS,
} from '../node/services.ts'
import { ratesBetween, type TrafficSample } from '../node/traffic-rates.ts'
import { BackendsTable } from './backends-table.ts'
import { Figures } from './figures.ts'
import { useRouteHash, View } from './frame.ts'
import { type Column, Grid, Toolbar } from './grid.ts'
import { ServiceName, StateMark } from './service-label.ts'
import { useStore } from './use-store.ts'

const EVERY = { everyMs: 2_000, restFactor: 10 }
const UNREAD: ServiceDetails = { entries: undefined, samples: [undefined, undefined], failure: '' }

const KINDS: Readonly<Record<string, string>> = {
  clusterIP: 'cluster IP',
  nodePort: 'node port',
  externalIP: 'external IP',
  loadBalancerIP: 'load balancer IP',
}

const COLUMNS: readonly (Column<ServiceRow> & { readonly key: SortKey })[] = [
  {
    key: 'service',
    name: 'Service',
    className: () => 'name',
    show: ({ service }) => html`<${ServiceName} service=${service} />`,
    title: ({ service }) => service,
  },
  {
    key: 'status',
    name: 'State',
    title: ({ problem }) => problem,
    show: ({ status }) => html`<${StateMark} status=${status} />`,
  },
  { key: 'entries', name: 'Ports', isNumber: true, show: ({ entries }) => formatCount(entries) },
  {
    key: 'backends',
    name: 'Backends',
    isNumber: true,
    show: ({ backends }) => formatCount(backends),
    className: ({ backends }) => (backends === 0 ? 'none' : ''),
  },
  {
    key: 'connections',
    name: 'Connections/s',
    isNumber: true,
    show: ({ rates }) => formatRate(rates.connections),
  },
  {
    key: 'bytes',
    name: 'Traffic/s',
    isNumber: true,
    show: ({ rates }) => formatBytes(rates.bytes),
  },
]

interface Props {
  readonly api: NodeApi
  readonly state: NodeState
  /** The Service whose details are shown; empty: none. */
  readonly service: string
}

/** The Services of the node, and the details of one. */
export function ServicesView({ api, state, service }: Props) {
  const services = useStore(state.services)
  const samples = useStore(state.traffic)
  const [selection, select] = useState<Selection<SortKey>>(ALL_SERVICES)
  const rows = useMemo(() => serviceRows(services ?? [], samples), [services, samples])
  const shown = useMemo(() => selectServices(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isProblem).length, [rows])
  const routeHash = useRouteHash()
  const close = () => {
    location.hash = routeHash({ view: 'services', service: '' })
    document.querySelector<HTMLElement>('.grid')?.focus()
  }
  return html`<${View} title="Services" className="table-view">
    <${NodeFigures} state=${state} />
    <${Toolbar}
      ...${{ selection, problems, name: 'Services' }}
      placeholder="Filter by namespace, name or state"
      select=${(change: Partial<Selection<SortKey>>) => select({ ...selection, ...change })}
    />
    <p class="count" role="status">${formatShown('Service', shown.length, services?.length)}</p>
    <div class=${service === '' ? 'split' : 'split with-detail'}>
      <${ServicesGrid}
        ...${{ rows: shown, selection, select, opened: service }}
        isLoading=${services === undefined}
      />
      ${service === '' ? null : html`<${ServiceDetail} key=${service} ...${{ api, state, service, close }} />`}
    </div>
  <//>`
}

interface ServicesGridProps {
  readonly rows: readonly ServiceRow[]
  readonly selection: Selection<SortKey>
  readonly select: (selection: Selection<SortKey>) => void
  /** The Service whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

/** The table of the Services of a node. */
function ServicesGrid({ rows, selection, select, opened, isLoading }: ServicesGridProps) {
  const routeHash = useRouteHash()
  const props = {
    label: 'Services',
    name: 'services',
    columns: COLUMNS,
    rows,
    opened,
    isLoading,
    keyOf: ({ service }: ServiceRow) => service,
    order: selection,
    empty: 'No Service matches.',
    sortBy: (key: SortKey) => select({ ...selection, ...orderedBy(selection, key, TEXTS) }),
    open: (service: string) => {
      location.hash = routeHash({ view: 'services', service })
    },
  }
  return html`<${Grid} ...${props} />`
}

/** The node in numbers. */
function NodeFigures({ state }: { readonly state: NodeState }) {
  const status = useStore(state.status) ?? {}
  const { services, entries, backends } = status
  const [before, after] = useStore(state.traffic)
  const waiting = Number(status.waitingMs ?? 0)
  const { connections, bytes } = sumOfRates(before, after)
  const { p50, p99 } = latencyOf(status)
  const startedAt = Number(status.startedAt ?? 0)
  const figures = [
    { name: 'Services', value: formatCount(services), detail: formatCountOf(entries ?? 0, 'port') },
    { name: 'Backends', value: formatCount(backends) },
    { name: 'Connections', value: perSecond(formatRate(connections), connections) },
    { name: 'Traffic', value: perSecond(formatBytes(bytes), bytes) },
    {
      name: 'Latency',
      value: formatMs(p50),
      detail: `p99 ${formatMs(p99)}`,
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

/** The rates of all Services together; undefined: none is known. */
function sumOfRates(before: TrafficSample | undefined, after: TrafficSample | undefined) {
  let connections: number | undefined
  let bytes: number | undefined
  if (after === undefined) return { connections, bytes }
  for (const name of after.counts.keys()) {
    const rates = ratesBetween(before, after, name)
    if (rates.connections !== undefined) connections = (connections ?? 0) + rates.connections
    if (rates.bytes !== undefined) bytes = (bytes ?? 0) + rates.bytes
  }
  return { connections, bytes }
}

interface ServiceDetailProps {
  readonly api: NodeApi
  readonly state: NodeState
  readonly service: string
  readonly close: () => void
}

/** One Service: where its packets arrive, and the traffic of each of its backends. */
function ServiceDetail({ api, state, service, close }: ServiceDetailProps) {
  const { entries, samples, failure } = useService(api, service)
  const status = useStore(state.status)
  const routeHash = useRouteHash()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [service])
  const onKeyDown = ({ key }: KeyboardEvent) => (key === 'Escape' ? close() : undefined)
  return html`<aside class="detail" aria-labelledby="detail-title" onKeyDown=${onKeyDown}>
    <div class="detail-head">
      <h2 id="detail-title" ref=${heading} tabindex="-1">${service}</h2>
      <a class="button" href=${routeHash(explainRoute(service))}>Explain a packet</a>
      <button type="button" onClick=${close}>Close</button>
    </div>
    ${failure === '' ? null : html`<p class="failure" role="alert">${failure}</p>`}
    <${Conflicts} status=${status} service=${service} />
    ${entries === undefined ? html`<p>Reading…</p>` : null}
    ${entries?.length === 0 ? html`<p>This node forwards no port of it.</p>` : null}
    ${entries?.map((entry) => html`<${Entry} key=${entry.id} entry=${entry} samples=${samples} />`)}
  </aside>`
}

function Conflicts({
  status,
  service,
}: {
  status: StatusResponseJson | undefined
  service: string
}) {
  const problems = status?.problems?.filter(({ entry = '' }) => entry.startsWith(`${service}:`))
  return problems?.map(
    ({
      entry = '',
      message = '',
      code = '',
    }) => html`<p class="failure" key=${`${entry}${message}`}>
      ${message} <code>${code}</code>
    </p>`,
  )
}

interface EntryProps {
  readonly entry: EntryMessage
  readonly samples: readonly [TrafficSample | undefined, TrafficSample | undefined]
}

function Entry({ entry, samples }: EntryProps) {
  const { id, protocol = '', family = 4, status = '', frontends = [], affinitySeconds = 0 } = entry
  const { scheduler = '' } = entry
  const port = /^[^:]*:([^/]*)/.exec(id)?.[1] ?? ''
  const title = [port, protocol, `IPv${family}`].filter(Boolean).join(' · ')
  const rows = backendRows(entry, samples)
  return html`<section class="entry" aria-label=${title}>
    <h3>${title} <${StateMark} status=${status} /></h3>
    <ul class="frontends">
      ${frontends.map((one) => html`<${Frontend} key=${`${one.kind}${one.ip}${one.port}`} frontend=${one} protocol=${protocol} />`)}
    </ul>
    <p class="remarks">
      ${affinitySeconds === 0 ? null : `Clients keep their backend for ${affinitySeconds} s. `}
      ${scheduler === '' ? null : `Scheduler ${scheduler}. `}
    </p>
    <${BackendsTable} rows=${rows} label=${`Backends of ${title}`} isCounted=${samples[1] !== undefined} />
  </section>`
}

function Frontend({ frontend, protocol }: { frontend: FrontendJson; protocol: string }) {
  const { kind = '', ip = '', port = 0, pool = '', sourceRanges = [], admitsAll = false } = frontend
  const routeHash = useRouteHash()
  const isNode = ip === 'node'
  const address = isNode ? `every node address:${port}` : hostPort(ip, port)
  return html`<li>
    <span class="kind">${KINDS[kind] ?? kind}</span>
    ${isNode ? address : html`<a href=${routeHash(explainRoute(address, protocol.toLowerCase()))}>${address}</a>`}
    ${pool === 'local' ? html`<span class="mark">backends of this node only</span>` : null}
    ${admitsAll ? null : html`<span class="mark">from ${sourceRanges.join(', ') || 'no source'}</span>`}
  </li>`
}

/** What is read of one Service while its details are visible. */
interface ServiceDetails {
  /** Undefined: the entries are not read yet. */
  readonly entries: readonly EntryMessage[] | undefined
  readonly samples: readonly [TrafficSample | undefined, TrafficSample | undefined]
  readonly failure: string
}

/** Reads a Service periodically: its entries, and then the traffic of its backends. */
function useService(api: NodeApi, service: string): ServiceDetails {
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
