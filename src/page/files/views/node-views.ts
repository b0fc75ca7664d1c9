import { html } from 'htm/preact'
import { useCallback, useState } from 'preact/hooks'
import type {
  ProblemJson,
  RefusalJson,
  StatusResponseJson,
} from '../../../inspection/generated/inspection_pb.ts'
import type { ExplainQuery, NodeApi } from '../data/node-api.ts'
import { formatAge, formatCount, formatMs, formatWell } from '../display/format.ts'
import type { Route } from '../display/route.ts'
import { type LatencyPoint, percentile } from '../node/latency-series.ts'
import { countProblems, type NodeState } from '../node/node-state.ts'
import { ExplainAnswer, ExplainForm } from './explain.ts'
import { Figures } from './figures.ts'
import { useRouteHash, View } from './frame.ts'
import { LatencyPlot } from './latency-plot.ts'
import { ServicesView } from './services-view.ts'
import { useStore } from './use-store.ts'

/** The most changes in the table below the plot. */
const LAST = 50
const TIME = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' })

interface Props {
  readonly api: NodeApi
  readonly state: NodeState
  readonly route: Route
}

/** The view of a node that a route names. */
export function NodeViews({ api, state, route }: Props) {
  switch (route.view) {
    case 'services':
      return html`<${ServicesView} api=${api} state=${state} service=${route.service} />`
    case 'latency':
      return html`<${LatencyView} state=${state} />`
    case 'problems':
      return html`<${ProblemsView} state=${state} />`
    case 'explain':
      return html`<${ExplainView} api=${api} route=${route} />`
  }
}

interface ExplainViewProps {
  readonly api: NodeApi
  readonly route: Extract<Route, { view: 'explain' }>
}

/** What happens to a packet on this node: the search box, the answer, and the path as a picture. */
function ExplainView({ api, route }: ExplainViewProps) {
  const [repeats, setRepeats] = useState(0)
  const routeHash = useRouteHash()
  const explain = useCallback(
    async (query: ExplainQuery, signal: AbortSignal) => ({
      explanation: await api.explain(query, signal),
      foundWords: '',
    }),
    [api],
  )
  return html`<${View} title="Explain" className="explain">
    <p class="lead">What this node's kernel does with the first packet of a connection, and what node-proxy wants.</p>
    <${ExplainForm}
      query=${route}
      onRepeat=${() => setRepeats(repeats + 1)}
      hashOf=${(query: ExplainQuery) => routeHash({ view: 'explain', ...query })}
      sourceHint="an address, or node"
      firstSource="node"
    />
    <${ExplainAnswer} query=${route} explain=${explain} repeats=${repeats} />
  <//>`
}

/** How long changes take to reach the kernel, over time. */
function LatencyView({ state }: { readonly state: NodeState }) {
  const points = useStore(state.latency)
  const [p50, p99] = [percentile(points, 0.5), percentile(points, 0.99)]
  const failed = points.filter(({ hasFailures }) => hasFailures).length
  const figures = [
    { name: 'Changes shown', value: formatCount(points.length) },
    { name: 'p50', value: formatMs(p50) },
    { name: 'p99', value: formatMs(p99) },
    { name: 'Slowest', value: formatMs(percentile(points, 1)) },
    { name: 'In a run with a refusal', value: formatCount(failed), isBad: failed > 0 },
  ]
  return html`<${View} title="Latency" className="latency">
    <p class="lead">From the compilation of a Service to the end of the run that wrote it into the kernel.</p>
    <${Figures} label="Programming latency" figures=${figures} />
    ${points.length === 0 ? html`<p class="empty">No change yet.</p>` : html`<${LatencyPlot} points=${points} />`}
    <${LastChanges} points=${points} />
  <//>`
}

function LastChanges({ points }: { readonly points: readonly LatencyPoint[] }) {
  const routeHash = useRouteHash()
  if (points.length === 0) return null
  const last = points.slice(-LAST).toReversed()
  return html`<h2 id="changes-title">The last changes</h2>
    <table class="changes" aria-labelledby="changes-title">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Service</th>
          <th scope="col" class="number">Latency</th>
          <th scope="col" class="number">Objects of the run</th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        ${last.map(
          (one) => html`<tr key=${`${one.service} ${one.at}`}>
            <td>${TIME.format(one.at)}</td>
            <th scope="row"><a href=${routeHash({ view: 'services', service: one.service })}>${one.service}</a></th>
            <td class="number">${formatMs(one.ms)}</td>
            <td class="number">${formatCount(one.objects)}</td>
            <td><span class=${`state ${one.hasFailures ? 'bad' : 'good'}`}>${one.hasFailures ? 'with a refusal' : 'written'}</span></td>
          </tr>`,
        )}
      </tbody>
    </table>`
}

/** What does not work: why the node is not ready, conflicts of Services, what the kernel refuses, drift. */
function ProblemsView({ state }: { readonly state: NodeState }) {
  const status = useStore(state.status)
  const { reasons = [], warnings = [], refusals = [], problems = [] } = status ?? {}
  const isWell = status !== undefined && countProblems(status) === 0
  return html`<${View} title="Problems" className="problems">
    <${Facts} status=${status} />
    ${isWell ? html`<p class="well">${formatWell(status.waitingMs)} No Service is in conflict.</p>` : null}
    <${Texts} title="Why this node is not ready" texts=${reasons} />
    <${Texts} title="Lasting problems that do not stop it" texts=${warnings} />
    <${Conflicts} problems=${problems} />
    <${Refusals} refusals=${refusals} />
  <//>`
}

function Facts({ status }: { readonly status: StatusResponseJson | undefined }) {
  const drift = Number(status?.driftRepaired ?? 0)
  const waiting = Number(status?.waitingMs ?? 0)
  const figures = [
    { name: 'Drift repaired', value: formatCount(drift), detail: 'objects, since the start' },
    { name: 'Oldest waiting change', value: waiting === 0 ? 'none' : formatAge(waiting) },
    { name: 'Conflicts', value: formatCount(status?.problems?.length ?? 0) },
    { name: 'Refused by the kernel', value: formatCount(status?.refusals?.length ?? 0) },
  ]
  return html`<${Figures} label="Drift and conflicts" figures=${figures} />`
}

function Texts({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return null
  return html`<h2>${title}</h2>
    <ul class="problem-list">${texts.map((text) => html`<li key=${text}>${text}</li>`)}</ul>`
}

function Conflicts({ problems }: { readonly problems: readonly ProblemJson[] }) {
  if (problems.length === 0) return null
  return html`<h2>Addresses of Services that are not served</h2>
    <ul class="problem-list">
      ${problems.map(
        ({ entry = '', code = '', message = '' }) => html`<li key=${`${entry} ${message}`}>
          <${EntryLink} entry=${entry} /> <span>${message}</span> <code>${code}</code>
        </li>`,
      )}
    </ul>`
}

function Refusals({ refusals }: { readonly refusals: readonly RefusalJson[] }) {
  if (refusals.length === 0) return null
  return html`<h2>What the kernel refuses</h2>
    <ul class="problem-list">
      ${refusals.map(
        ({ object = '', code = '', message = '', entries = [] }) => html`<li key=${object}>
          <code>${object}</code> <span>${message}</span> <code>${code}</code>
          ${entries.slice(0, 5).map((entry) => html` <${EntryLink} entry=${entry} />`)}
        </li>`,
      )}
    </ul>`
}

/** The id of an entry, namespace/name:port/protocol/family, as a link to its Service. */
function EntryLink({ entry }: { readonly entry: string }) {
  const routeHash = useRouteHash()
  const service = entry.split(':')[0] ?? ''
  return html`<a href=${routeHash({ view: 'services', service })}>${entry}</a>`
}
