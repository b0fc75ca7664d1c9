import { html } from 'htm/preact'
import { type LatencyPoint, percentile } from '../../latency/latency-series.ts'
import type { NodeState } from '../../node/node-state.ts'
import { formatCount, formatMs } from '../../text/format.ts'
import { Figures } from '../parts/figures.ts'
import { View } from '../parts/frame.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { useStore } from '../parts/use-store.ts'
import { LatencyPlot } from './latency-plot.ts'

/** Changes in the table below the plot. */
const LAST = 50
const TIME = new Intl.DateTimeFormat('en', { timeStyle: 'medium', hourCycle: 'h23' })

/** How long changes take to reach the kernel, over time. */
export function LatencyView({ state }: { readonly state: NodeState }) {
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
  return html`<${View} title="Latency" name="latency">
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
