import { html } from 'htm/preact'
import { useEffect, useRef } from 'preact/hooks'
import type { EntryMessage, FrontendMessage, StatusMessage } from '../../data/messages.ts'
import type { NodeApi } from '../../data/node-api.ts'
import type { NodeState } from '../../node/node-state.ts'
import { explainRoute } from '../../route/route.ts'
import { backendRows } from '../../services/service-entries.ts'
import { hostPort } from '../../text/format.ts'
import type { TrafficSample } from '../../traffic/traffic-rates.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { StateMark } from '../parts/state-mark.ts'
import { useStore } from '../parts/use-store.ts'
import { BackendsTable } from './backends-table.ts'
import { useService } from './use-service.ts'

interface Props {
  readonly api: NodeApi
  readonly state: NodeState
  readonly service: string
  readonly close: () => void
}

/** One Service: where its packets arrive, and what each of its backends gets. */
export function ServiceDetail({ api, state, service, close }: Props) {
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

function Conflicts({ status, service }: { status: StatusMessage | undefined; service: string }) {
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

const KINDS: Readonly<Record<string, string>> = {
  clusterIP: 'cluster IP',
  nodePort: 'node port',
  externalIP: 'external IP',
  loadBalancerIP: 'load balancer IP',
}

function Frontend({ frontend, protocol }: { frontend: FrontendMessage; protocol: string }) {
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
