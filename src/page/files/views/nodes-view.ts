import { html } from 'htm/preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import type { ClusterState } from '../cluster/cluster-state.ts'
import { disagreements } from '../cluster/compare-nodes.ts'
import { followStatuses } from '../cluster/follow-cluster.ts'
import { nodeRemedy } from '../cluster/node-reading.ts'
import {
  compareAll,
  NODE_STATES,
  type NodeRow,
  type NodeRowState,
  nodeRows,
} from '../cluster/node-row.ts'
import type { ClusterApi } from '../data/cluster-api.ts'
import { latencyOf } from '../data/node-api.ts'
import { clusterHash, NODES, nodeHash } from '../display/cluster-route.ts'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatMs,
  formatShown,
  formatWell,
  NOTHING,
} from '../display/format.ts'
import { orderedBy, type RowRules, type Selection, selectRows } from '../display/selection.ts'
import { Disagreements, Figures } from './figures.ts'
import { View } from './frame.ts'
import { type Column, Grid, Toolbar } from './grid.ts'
import { useFollowing, useStore } from './use-store.ts'

/** All nodes, those with problems first. */
export const ALL_NODES: Selection<NodeSortKey> = {
  text: '',
  onlyProblems: false,
  sort: 'state',
  isDescending: false,
}

/** Columns that hold words. */
const NODE_TEXTS: ReadonlySet<string> = new Set<NodeSortKey>([
  'name',
  'state',
  'problem',
  'mode',
  'version',
])

const RULES: RowRules<NodeRow, NodeSortKey> = {
  values: {
    name: ({ name }) => name,
    state: ({ state }) => NODE_STATES.indexOf(state),
    problem: (row) => firstWords(row),
    mode: ({ status }) => status?.mode ?? '',
    waiting: ({ status }) => Number(status?.waitingMs ?? 0),
    p50: ({ status }) => latencyOf(status ?? {}).p50 ?? -1,
    p99: ({ status }) => latencyOf(status ?? {}).p99 ?? -1,
    drift: ({ status }) => Number(status?.driftRepaired ?? 0),
    services: ({ status }) => status?.services ?? -1,
    entries: ({ status }) => status?.entries ?? -1,
    version: ({ status }) => status?.version ?? '',
  },
  textOf: ({ name, state, problems, differences, status }) =>
    [name, state, status?.mode, status?.version, ...problems, ...differences].join(' '),
  isProblem: isUnwell,
}

const TONES: Readonly<Record<NodeRowState, string>> = {
  'no answer': 'bad',
  'not ready': 'bad',
  problems: 'warn',
  differs: 'warn',
  loading: 'busy',
  ready: 'good',
}

const FIRST: readonly NodeColumn[] = [
  {
    key: 'name',
    name: 'Node',
    className: () => 'name',
    show: ({ name }) => name,
    title: ({ name }) => name,
  },
  {
    key: 'state',
    name: 'State',
    show: ({ state }) => html`<${NodeStateMark} state=${state} />`,
  },
  { key: 'problem', name: 'Problem', show: firstWords, title: allWords },
  { key: 'mode', name: 'Mode', show: ({ status }) => status?.mode ?? NOTHING },
  { key: 'waiting', name: 'Sync', show: ({ status }) => syncWords(status) },
]

const COLUMNS: readonly NodeColumn[] = [
  ...FIRST,
  numbers('p50', 'p50', (status) => formatMs(latencyOf(status).p50)),
  numbers('p99', 'p99', (status) => formatMs(latencyOf(status).p99)),
  numbers('drift', 'Drift', ({ driftRepaired }) => formatCount(Number(driftRepaired ?? 0))),
  numbers('services', 'Services', ({ services = 0 }) => formatCount(services)),
  numbers('entries', 'Ports', ({ entries = 0 }) => formatCount(entries)),
  {
    key: 'version',
    name: 'Version',
    title: ({ status }) => status?.version ?? '',
    show: ({ status }) => status?.version ?? NOTHING,
  },
]

/** The most values of one field that are listed. */
const LISTED = 3

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  /** The node whose details are shown; empty: none. */
  readonly node: string
}

/** Every node: its state, its problems, and where it differs from the others. */
export function NodesView({ api, state, node }: Props) {
  useFollowing((signal) => followStatuses(api, state, document, signal), [api])
  const nodes = useStore(state.nodes)
  const readings = useStore(state.readings)
  const [selection, select] = useState<Selection<NodeSortKey>>(ALL_NODES)
  const { rows, disputed } = useMemo(() => {
    const comparison = compareAll(nodes ?? [], readings)
    return {
      rows: nodeRows(nodes ?? [], readings, comparison),
      disputed: disagreements(comparison),
    }
  }, [nodes, readings])
  const shown = useMemo(() => selectNodes(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isUnwell).length, [rows])
  const opened = rows.find(({ name }) => name === node)
  return html`<${View} title="Nodes" className="table-view">
    <${NodesFigures} rows=${rows} />
    <${Disagreements} texts=${disputed} />
    <${Toolbar}
      ...${{ selection, problems, name: 'nodes' }}
      placeholder="Filter by name, mode, version or problem"
      select=${(change: Partial<Selection<NodeSortKey>>) => select({ ...selection, ...change })}
    />
    <p class="count" role="status">${formatShown('node', shown.length, nodes?.length)}</p>
    <div class=${node === '' ? 'split' : 'split with-detail'}>
      <${NodesGrid} ...${{ rows: shown, selection, select, opened: node }} isLoading=${nodes === undefined} />
      ${node === '' ? null : html`<${NodeDetail} key=${node} ...${{ name: node, row: opened, close }} />`}
    </div>
  <//>`
}

function close(): void {
  location.hash = clusterHash(NODES)
  document.querySelector<HTMLElement>('.grid')?.focus()
}

/** The nodes in numbers. */
function NodesFigures({ rows }: { readonly rows: readonly NodeRow[] }) {
  const count = (...states: readonly string[]) =>
    rows.filter(({ state }) => states.includes(state)).length
  const statuses = rows.flatMap(({ status, failure }) =>
    status === undefined || failure !== undefined ? [] : [status],
  )
  const silent = count('no answer')
  const unready = count('not ready')
  const waiting = Math.max(0, ...statuses.map(({ waitingMs = '0' }) => Number(waitingMs)))
  const slowest = Math.max(-1, ...statuses.map((status) => latencyOf(status).p99 ?? -1))
  const figures = [
    // With those that have problems or differ: they serve.
    {
      name: 'Working',
      value: formatCount(rows.length - silent - unready - count('loading')),
      detail: `of ${formatCount(rows.length)}`,
    },
    { name: 'Not ready', value: formatCount(unready), isBad: unready > 0 },
    { name: 'Cannot be read', value: formatCount(silent), isBad: silent > 0 },
    { name: 'With problems', value: formatCount(count('problems')) },
    { name: 'Differ', value: formatCount(rows.filter((row) => row.differences.length > 0).length) },
    { name: 'Mode', value: spread(statuses.map(({ mode = '' }) => mode)) },
    { name: 'Version', value: spread(statuses.map(({ version = '' }) => version)) },
    { name: 'Slowest p99', value: formatMs(slowest < 0 ? undefined : slowest) },
    {
      name: 'Oldest waiting',
      value: waiting === 0 ? 'none' : formatAge(waiting),
      isBad: waiting > 10_000,
    },
  ]
  return html`<${Figures} label="All nodes" figures=${figures} />`
}

/** Different values, with how many nodes have each. */
function spread(values: readonly string[]): string {
  const found = frequencies(values)
  if (found.length <= 1) return found[0]?.[0] || NOTHING
  const listed = found.slice(0, LISTED).map(([value, count]) => `${value} (${formatCount(count)})`)
  return [...listed, ...(found.length > LISTED ? ['…'] : [])].join(', ')
}

interface NodesGridProps {
  readonly rows: readonly NodeRow[]
  readonly selection: Selection<NodeSortKey>
  readonly select: (selection: Selection<NodeSortKey>) => void
  /** The node whose details are shown. */
  readonly opened: string
  readonly isLoading: boolean
}

type NodeColumn = Column<NodeRow> & { readonly key: NodeSortKey }

/** The table of nodes. */
function NodesGrid({ rows, selection, select, opened, isLoading }: NodesGridProps) {
  const props = {
    label: 'Nodes',
    name: 'nodes',
    columns: COLUMNS,
    rows,
    opened,
    isLoading,
    keyOf: ({ name }: NodeRow) => name,
    order: selection,
    empty: 'No node matches.',
    sortBy: (key: NodeSortKey) =>
      select({ ...selection, ...orderedBy(selection, key, NODE_TEXTS) }),
    open: (node: string) => {
      location.hash = clusterHash({ view: 'nodes', node })
    },
  }
  return html`<${Grid} ...${props} />`
}

function numbers(
  key: NodeSortKey,
  name: string,
  show: (status: StatusResponseJson) => string,
): NodeColumn {
  const cell = ({ status }: NodeRow) => (status === undefined ? NOTHING : show(status))
  return { key, name, isNumber: true, show: cell }
}

function allWords({ problems, differences }: NodeRow): string {
  return [...problems, ...differences].join('\n')
}

interface NodeDetailProps {
  readonly name: string
  /** Undefined: there is no such Node, or Nodes are not listed yet. */
  readonly row: NodeRow | undefined
  readonly close: () => void
}

/** One node: its problems, what to do, and the link to its page. */
function NodeDetail({ name, row, close }: NodeDetailProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus({ preventScroll: true }), [name])
  const onKeyDown = ({ key }: KeyboardEvent) => (key === 'Escape' ? close() : undefined)
  return html`<aside class="detail" aria-labelledby="detail-title" onKeyDown=${onKeyDown}>
    <div class="detail-head">
      <h2 id="detail-title" ref=${heading} tabindex="-1">${name}</h2>
      ${row === undefined ? null : html`<${NodeStateMark} state=${row.state} />`}
      <a class="button" href=${nodeHash(name)}>Open this node</a>
      <button type="button" onClick=${close}>Close</button>
    </div>
    ${row === undefined ? html`<p>No Node of this name is listed.</p>` : html`<${Row} row=${row} />`}
  </aside>`
}

function Row({ row }: { readonly row: NodeRow }) {
  const { status, problems, differences } = row
  return html`<${Failure} row=${row} />
    <${Texts} title="What is wrong" texts=${row.failure === undefined ? problems : problems.slice(1)} />
    <${Texts} title="Where it differs" texts=${differences} />
    ${row.state === 'ready' ? html`<p class="well">${formatWell(status?.waitingMs)}</p>` : null}
    ${status === undefined ? null : html`<${Facts} status=${status} isOld=${row.failure !== undefined} />`}`
}

function Failure({ row: { name, failure } }: { readonly row: NodeRow }) {
  if (failure === undefined) return null
  const { text, command } = nodeRemedy(name, failure)
  return html`<div class="failure">
      <p>${failure.message} ${failure.code === '' ? null : html`<code>${failure.code}</code>`}</p>
    </div>
    <p class="remedy">${text}</p>
    ${command === '' ? null : html`<pre><code>${command}</code></pre>`}`
}

function Texts({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<h3>${title}</h3>
    <ul class="problem-list">${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`
}

function Facts({
  status,
  isOld,
}: {
  readonly status: StatusResponseJson
  readonly isOld: boolean
}) {
  const { startedAt, residentMemory } = status
  const { p50, p99 } = latencyOf(status)
  const figures = [
    { name: 'Mode', value: status.mode ?? '' },
    { name: 'Version', value: status.version ?? '' },
    { name: 'Sync', value: syncWords(status) },
    {
      name: 'Latency',
      value: formatMs(p50),
      detail: `p99 ${formatMs(p99)}`,
    },
    { name: 'Drift repaired', value: formatCount(Number(status.driftRepaired ?? 0)) },
    { name: 'Services', value: formatCount(status.services ?? 0) },
    { name: 'Ports', value: formatCount(status.entries ?? 0) },
    { name: 'Backends', value: formatCount(status.backends ?? 0) },
    ...(residentMemory === undefined
      ? []
      : [{ name: 'Memory', value: formatBytes(Number(residentMemory)) }]),
    ...(startedAt === undefined
      ? []
      : [{ name: 'Running for', value: formatAge(Date.now() - Number(startedAt)) }]),
  ]
  return html`<h3>${isOld ? 'When it was last read' : 'In numbers'}</h3>
    <${Figures} label="This node" figures=${figures} />`
}

/** Whether every change is in the kernel, or how long the oldest one has waited. */
function syncWords(status: StatusResponseJson | undefined): string {
  if (status === undefined) return NOTHING
  const waitingMs = Number(status.waitingMs ?? 0)
  return waitingMs === 0 ? 'in sync' : `waits ${formatAge(waitingMs)}`
}

/** The state of a node: a word, and a mark whose shape says the same as its colour. */
function NodeStateMark({ state }: { readonly state: NodeRowState }) {
  return html`<span class=${`state ${TONES[state]}`}>${state}</span>`
}

/** Different values, the most frequent one first. */
export function frequencies<T>(
  values: readonly T[],
): readonly (readonly [value: T, count: number])[] {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)
}

type NodeSortKey =
  | 'name'
  | 'state'
  | 'problem'
  | 'mode'
  | 'waiting'
  | 'p50'
  | 'p99'
  | 'drift'
  | 'services'
  | 'entries'
  | 'version'

/** The nodes that a selection shows. */
export function selectNodes(
  rows: readonly NodeRow[],
  selection: Selection<NodeSortKey>,
): readonly NodeRow[] {
  return selectRows(rows, selection, RULES)
}

/** Whether an operator has to look at a node. */
function isUnwell({ state }: NodeRow): boolean {
  return state !== 'ready' && state !== 'loading'
}

/** The worst problem of a node, or the first difference. */
export function firstWords({ problems, differences }: NodeRow): string {
  const [first = ''] = [...problems, ...differences]
  const more = problems.length + differences.length - 1
  return more > 0 ? `${first} (and ${more} more)` : first
}
