import { html } from 'htm/preact'
import { useMemo, useState } from 'preact/hooks'
import type { NodeApi } from '../../data/node-api.ts'
import type { Selection } from '../../grid/selection.ts'
import type { NodeState } from '../../node/node-state.ts'
import {
  ALL_SERVICES,
  isProblem,
  type SortKey,
  selectServices,
} from '../../services/select-services.ts'
import { serviceRows } from '../../services/service-row.ts'
import { formatShown } from '../../text/format.ts'
import { View } from '../parts/frame.ts'
import { useRouteHash } from '../parts/page-base.ts'
import { Toolbar } from '../parts/toolbar.ts'
import { useStore } from '../parts/use-store.ts'
import { NodeFigures } from './node-figures.ts'
import { ServiceDetail } from './service-detail.ts'
import { ServicesGrid } from './services-grid.ts'

interface Props {
  readonly api: NodeApi
  readonly state: NodeState
  /** Whose details are shown; empty: none. */
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
  return html`<${View} title="Services" name="services">
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
