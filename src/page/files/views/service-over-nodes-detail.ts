import { html } from 'htm/preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import {
  type NodeService,
  type ReadService,
  readServices,
  worstStatus,
} from '../cluster/cluster-services.ts'
import type { ClusterState } from '../cluster/cluster-state.ts'
import { listedNames } from '../cluster/compare-nodes.ts'
import { followService, UNREAD } from '../cluster/follow-service.ts'
import { nodeDifferences, type ServiceDifferences } from '../cluster/node-differences.ts'
import type { ClusterApi } from '../data/cluster-api.ts'
import type { EntryMessage } from '../data/node-api.ts'
import { Store } from '../data/store.ts'
import { clusterHash } from '../display/cluster-route.ts'
import {
  formatBytes,
  formatCount,
  formatCountOf,
  formatRate,
  formatShort,
  hostPort,
  NOTHING,
} from '../display/format.ts'
import { type BackendRow, backendRows } from '../node/services.ts'
import { BackendsTable } from './backends-table.ts'
import { Disagreements } from './figures.ts'
import { StateMark } from './service-label.ts'
import { useFollowing, useStore } from './use-store.ts'

/** The most nodes that are shown before the reader wants all. */
const FIRST = 60

const HINTS =
  'Its endpoints have topology hints, by which each node may have other backends: these are not compared.'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  readonly service: string
  readonly close: () => void
}

/** One Service over all nodes: the traffic of its backends, and which nodes forward it differently. */
export function ServiceOverNodesDetail({ api, state, service, close }: Props) {
  const { services, hasHints, rounds } = useServiceOverNodes({ api, state, service })
  const { read, differences, entries } = useMemo(() => {
    const found = readServices(services)
    return {
      read: found,
      differences: nodeDifferences(found, hasHints),
      entries: sumEntries(found),
    }
  }, [services, hasHints])
  const rows = useMemo(() => nodeServiceRows(services, differences.byNode), [services, differences])
  const isCounted = read.some(({ samples }) => samples[1] !== undefined)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [service])
  const onKeyDown = ({ key }: KeyboardEvent) => (key === 'Escape' ? close() : undefined)
  return html`<aside class="detail" aria-labelledby="detail-title" onKeyDown=${onKeyDown}>
    <div class="detail-head">
      <h2 id="detail-title" ref=${heading} tabindex="-1">${service}</h2>
      <a class="button" href=${explainHash(service)}>Explain a packet</a>
      <button type="button" onClick=${close}>Close</button>
    </div>
    <p class="remarks" role="status">${progressWords(read.length, services.length)}</p>
    ${hasHints ? html`<p class="remarks">${HINTS}</p>` : null}
    <${Differing} differences=${differences} />
    <${Disagreements} texts=${differences.disputed} />
    ${rounds > 0 && read.length > 0 && entries.length === 0 ? html`<p>No node forwards a port of it.</p>` : null}
    ${entries.map((one) => html`<${EntryOverNodesSection} key=${one.entry.id} over=${one} isCounted=${isCounted} />`)}
    <h3 id="nodes-title">On each node</h3>
    <${ServiceNodesTable} rows=${rows} service=${service} />
  </aside>`
}

function useServiceOverNodes({ api, state, service }: Omit<Props, 'close'>) {
  const [found] = useState(() => new Store(UNREAD))
  useFollowing(
    (signal) => followService(api, { service, state, found, visibility: document, signal }),
    [api, service],
  )
  return useStore(found)
}

/** The nodes that differ from most, and, for properties without a majority, the nodes that have each value. */
function Differing({ differences }: { readonly differences: ServiceDifferences }) {
  const names = [...differences.byNode.keys()]
  if (names.length === 0 || differences.disputed.length > 0) return null
  const verb = names.length === 1 ? 'differs' : 'differ'
  return html`<p class="failure">
    ${listedNames(names)} ${verb} from the other nodes: the table below says in what.
  </p>`
}

function progressWords(read: number, all: number): string {
  if (all === 0) return 'Reading the nodes…'
  return `The sum over ${formatCount(read)} of ${formatCountOf(all, 'node')}.`
}

function explainHash(service: string): string {
  return clusterHash({
    view: 'explain',
    node: '',
    source: '',
    destination: service,
    protocol: '',
    inInterface: '',
  })
}

interface EntryOverNodesSectionProps {
  readonly over: EntryOverNodes
  readonly isCounted: boolean
}

/** One port of a Service: where its packets arrive, and what all nodes sent to each of its backends. */
function EntryOverNodesSection({
  over: { entry, status, rows },
  isCounted,
}: EntryOverNodesSectionProps) {
  const { id, protocol = '', family = 4, frontends = [] } = entry
  const port = /^[^:]*:([^/]*)/.exec(id)?.[1] ?? ''
  const title = [port, protocol, `IPv${family}`].filter(Boolean).join(' · ')
  const addresses = frontends.map(({ ip = '', port: number }) =>
    ip === 'node' ? `every node address:${number}` : hostPort(ip, number),
  )
  return html`<section class="entry" aria-label=${title}>
    <h3>${title} <${StateMark} status=${status} /></h3>
    <p class="remarks">${addresses.join(', ')}</p>
    <${BackendsTable} rows=${rows} label=${`Backends of ${title}`} isCounted=${isCounted} />
  </section>`
}

interface ServiceNodesTableProps {
  readonly rows: readonly NodeServiceRow[]
  readonly service: string
}

/** The nodes with what each of them forwards of a Service. */
function ServiceNodesTable({ rows, service }: ServiceNodesTableProps) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows.slice(0, FIRST)
  return html`<table class="backends service-nodes" aria-labelledby="nodes-title">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">State</th>
          <th scope="col" class="number">Backends</th>
          <th scope="col" class="number">Conn./s</th>
          <th scope="col" class="number">Connections</th>
          <th scope="col" class="number">Traffic/s</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((row) => html`<${Row} key=${row.node} row=${row} service=${service} />`)}
      </tbody>
    </table>
    ${
      shown.length === rows.length
        ? null
        : html`<button type="button" onClick=${() => setWhole(true)}>
            Show all ${formatCount(rows.length)} nodes
          </button>`
    }`
}

function Row({ row, service }: { readonly row: NodeServiceRow; readonly service: string }) {
  const { node, status, backends, connections, connectionsPerSecond, bytesPerSecond } = row
  const href = clusterHash({ view: 'node', node, route: { view: 'services', service } })
  return html`<tr>
    <th scope="row">
      <a href=${href}>${node}</a>
      ${row.remarks.map((remark) => html`<small key=${remark} class="differs">${remark}</small>`)}
    </th>
    <td><${State} row=${row} status=${status} /></td>
    <td class="number">${formatCount(backends)}</td>
    <td class="number">${formatRate(connectionsPerSecond)}</td>
    <td class="number">${formatShort(connections)}</td>
    <td class="number">${formatBytes(bytesPerSecond)}</td>
  </tr>`
}

function State({ row, status }: { readonly row: NodeServiceRow; readonly status: string }) {
  if (row.isRead) return status === '' ? NOTHING : html`<${StateMark} status=${status} />`
  return row.remarks.length > 0
    ? html`<span class="state bad">no answer</span>`
    : html`<span class="state busy">reading</span>`
}

/** One node in the table of a Service. */
interface NodeServiceRow {
  readonly node: string
  /** The worst status of its ports; empty: there are none, or they are not read. */
  readonly status: string
  /** Undefined: not read. */
  readonly ports: number | undefined
  readonly backends: number | undefined
  readonly connections: number | undefined
  readonly connectionsPerSecond: number | undefined
  readonly bytesPerSecond: number | undefined
  /** Where it differs from most nodes, or why it cannot be read. */
  readonly remarks: readonly string[]
  readonly isRead: boolean
}

/** A row for each node: those that cannot be read first, then those that differ. */
export function nodeServiceRows(
  services: readonly NodeService[],
  differences: ReadonlyMap<string, readonly string[]>,
): readonly NodeServiceRow[] {
  const rows = services.map((one) => rowOf(one, differences.get(one.node) ?? []))
  return rows.toSorted((a, b) => rank(a) - rank(b))
}

function rank({ isRead, remarks }: NodeServiceRow): number {
  if (!isRead && remarks.length > 0) return 0
  return remarks.length > 0 ? 1 : 2
}

function rowOf(
  { node, entries, samples, failure }: NodeService,
  differences: readonly string[],
): NodeServiceRow {
  const isRead = entries !== undefined && failure === ''
  const rows = entries?.flatMap((entry) => backendRows(entry, samples)) ?? []
  return {
    node,
    isRead,
    ...sumTraffic(isRead ? rows : []),
    status: isRead ? worstStatus(entries.map((entry) => entry.status ?? '')) : '',
    ports: isRead ? entries.length : undefined,
    backends: isRead ? rows.length : undefined,
    remarks: failure === '' ? differences : [failure],
  }
}

/** One Service port on all nodes. */
interface EntryOverNodes {
  /** The entry of one node. */
  readonly entry: EntryMessage
  /** The worst status of all nodes. */
  readonly status: string
  /** Each backend with the sum of what nodes sent to it. */
  readonly rows: readonly BackendRow[]
}

/** The entries of a Service over the nodes that were read, sorted by id. */
export function sumEntries(services: readonly ReadService[]): readonly EntryOverNodes[] {
  const all = services.flatMap(({ entries, samples }) =>
    entries.map((entry) => ({ entry, rows: backendRows(entry, samples) })),
  )
  const byId = Map.groupBy(all, ({ entry }) => entry.id)
  const ids = [...byId.keys()].toSorted()
  return ids.flatMap((id) => {
    const found = byId.get(id) ?? []
    const [first] = found
    if (first === undefined) return []
    const status = worstStatus(found.map(({ entry }) => entry.status ?? ''))
    return [{ entry: first.entry, status, rows: sumRows(found.map(({ rows }) => rows)) }]
  })
}

/** One row for each backend address, with what all nodes sent to it. */
function sumRows(nodes: readonly (readonly BackendRow[])[]): readonly BackendRow[] {
  const byAddress = Map.groupBy(nodes.flat(), ({ address }) => address)
  const sums = [...byAddress.values()].flatMap((rows) => sumRow(rows, nodes.length))
  const total = sumOf(sums.map(({ connections }) => connections)) ?? 0
  return sums.map((row) => ({
    ...row,
    share: total === 0 || row.connections === undefined ? undefined : row.connections / total,
  }))
}

function sumRow(rows: readonly BackendRow[], nodes: number): readonly BackendRow[] {
  const [first] = rows
  if (first === undefined) return []
  const isEverywhere = rows.length === nodes
  const marks = [
    ...(rows.some((row) => row.marks.includes('drains')) ? ['drains'] : []),
    ...(isEverywhere ? [] : [`on ${rows.length} of ${nodes} nodes`]),
  ]
  return [{ ...first, marks, share: undefined, ...sumTraffic(rows) }]
}

type Traffic = Pick<BackendRow, 'connections' | 'connectionsPerSecond' | 'bytes' | 'bytesPerSecond'>

/** The sum of the traffic to several backends, or from several nodes to one. */
function sumTraffic(rows: readonly Traffic[]): Traffic {
  return {
    connections: sumOf(rows.map(({ connections }) => connections)),
    connectionsPerSecond: sumOf(rows.map((row) => row.connectionsPerSecond)),
    bytes: sumOf(rows.map(({ bytes }) => bytes)),
    bytesPerSecond: sumOf(rows.map(({ bytesPerSecond }) => bytesPerSecond)),
  }
}

/** The sum of the known values; undefined: none is known. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}
