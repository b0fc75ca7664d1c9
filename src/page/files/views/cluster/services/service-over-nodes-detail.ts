import { html } from 'htm/preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ClusterState } from '../../../cluster/cluster-state.ts'
import { followService, UNREAD } from '../../../cluster/follow-service.ts'
import type { ClusterApi } from '../../../data/cluster-api.ts'
import { Store } from '../../../data/store.ts'
import { listedNames } from '../../../nodes/agreement.ts'
import { clusterHash } from '../../../route/cluster-route.ts'
import {
  nodeDifferences,
  type ServiceDifferences,
} from '../../../service-nodes/node-differences.ts'
import { readServices } from '../../../service-nodes/node-service.ts'
import { nodeServiceRows } from '../../../service-nodes/node-service-row.ts'
import { sumEntries } from '../../../service-nodes/sum-entries.ts'
import { formatCount, formatCountOf } from '../../../text/format.ts'
import { Disagreements } from '../../parts/disagreements.ts'
import { useFollowing } from '../../parts/use-following.ts'
import { useStore } from '../../parts/use-store.ts'
import { EntryOverNodesSection } from './entry-over-nodes-section.ts'
import { ServiceNodesTable } from './service-nodes-table.ts'

const HINTS =
  'Its endpoints have topology hints, by which each node may have other backends: these are not compared.'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  readonly service: string
  readonly close: () => void
}

/** One Service over all nodes: what its backends get, and which nodes forward it otherwise. */
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

/** The nodes that have it otherwise than most; where no majority has it alike, they are named with the values. */
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
    ...{ view: 'explain', node: '', source: '', destination: service },
    ...{ protocol: '', inInterface: '' },
  })
}
