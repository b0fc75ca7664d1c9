import { html } from 'htm/preact'
import { useMemo, useState } from 'preact/hooks'
import type { NodeApi } from '../../data/node-api.ts'
import type { NodeState } from '../../node/node-state.ts'
import { ALL_ROWS, isProblem, type Selection, selectRows } from '../../services/select-rows.ts'
import { serviceRows } from '../../services/service-row.ts'
import { formatCount, formatCountOf } from '../../text/format.ts'
import { View } from '../parts/frame.ts'
import { useRouteHash } from '../parts/route-base.ts'
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
  const [selection, select] = useState<Selection>(ALL_ROWS)
  const rows = useMemo(() => serviceRows(services ?? [], samples), [services, samples])
  const shown = useMemo(() => selectRows(rows, selection), [rows, selection])
  const problems = useMemo(() => rows.filter(isProblem).length, [rows])
  const routeHash = useRouteHash()
  const close = () => {
    location.hash = routeHash({ view: 'services', service: '' })
    document.querySelector<HTMLElement>('.grid')?.focus()
  }
  return html`<${View} title="Services" name="services">
    <${NodeFigures} state=${state} />
    <${Toolbar} selection=${selection} select=${select} problems=${problems} />
    <p class="count" role="status">${countWords(shown.length, services?.length)}</p>
    <div class=${service === '' ? 'split' : 'split with-detail'}>
      <${ServicesGrid}
        ...${{ rows: shown, selection, select, opened: service }}
        isLoading=${services === undefined}
      />
      ${service === '' ? null : html`<${ServiceDetail} key=${service} ...${{ api, state, service, close }} />`}
    </div>
  <//>`
}

function countWords(shown: number, all: number | undefined): string {
  if (all === undefined) return 'Reading the Services…'
  return shown === all
    ? formatCountOf(all, 'Service')
    : `${formatCount(shown)} of ${formatCountOf(all, 'Service')}`
}

interface ToolbarProps {
  readonly selection: Selection
  readonly select: (selection: Selection) => void
  readonly problems: number
}

function Toolbar({ selection, select, problems }: ToolbarProps) {
  const filter = (event: InputEvent) =>
    select({ ...selection, text: (event.target as HTMLInputElement).value })
  const restrict = (event: Event) =>
    select({ ...selection, onlyProblems: (event.target as HTMLInputElement).checked })
  return html`<search class="toolbar">
    <label for="filter" class="visually-hidden">Filter the Services</label>
    <input
      id="filter"
      type="search"
      placeholder="Filter by namespace, name or state"
      autocomplete="off"
      spellcheck="false"
      value=${selection.text}
      onInput=${filter}
    />
    <label class="check">
      <input type="checkbox" checked=${selection.onlyProblems} onChange=${restrict} />
      Only problems (${formatCount(problems)})
    </label>
  </search>`
}
