import { html } from 'htm/preact'
import { useCallback, useState } from 'preact/hooks'
import type { ClusterState } from '../../../cluster/cluster-state.ts'
import { listed } from '../../../cluster/listed.ts'
import { findConnection } from '../../../connection/find-connection.ts'
import type { ClusterApi } from '../../../data/cluster-api.ts'
import type { ExplainQuery } from '../../../data/node-api.ts'
import { type ClusterExplainRoute, clusterHash } from '../../../route/cluster-route.ts'
import { ExplainAnswer } from '../../explain/explain-answer.ts'
import { ExplainForm } from '../../explain/explain-form.ts'
import { View } from '../../parts/frame.ts'
import { useStore } from '../../parts/use-store.ts'

interface Props {
  readonly api: ClusterApi
  readonly state: ClusterState
  readonly route: ClusterExplainRoute
}

/** What happens to a packet in the cluster: the node on which it begins is found by its source, and explains it. */
export function ClusterExplainView({ api, state, route }: Props) {
  const [again, setAgain] = useState(0)
  const { node } = route
  const explain = useCallback(
    async (query: ExplainQuery, signal: AbortSignal) => {
      const nodes = await listed(state, signal)
      const found = await findConnection(api, { ...query, node }, nodes, signal)
      const explanation = await api.node(found.node).explain(found.query, signal)
      return { explanation, words: found.words }
    },
    [api, state, node],
  )
  const hashOf = (query: ExplainQuery, fields: FormData) =>
    clusterHash({ view: 'explain', ...query, node: fields.get('node') as string })
  return html`<${View} title="Explain" name="explain">
    <p class="lead">What the kernel of the node where a connection begins does with its first packet, and what node-proxy wants.</p>
    <${ExplainForm}
      query=${route}
      again=${() => setAgain(again + 1)}
      hashOf=${hashOf}
      sourceHint="pod/namespace/name, an address, node/name"
      firstSource=""
    >
      <${NodeChoice} state=${state} chosen=${node} />
    <//>
    <${ExplainAnswer} query=${route} explain=${explain} again=${again} />
  <//>`
}

/** The node that explains: found by the source, or one of the list. */
function NodeChoice({ state, chosen }: { readonly state: ClusterState; readonly chosen: string }) {
  const nodes = useStore(state.nodes) ?? []
  const names = nodes.map(({ metadata }) => metadata.name)
  const listedNames = chosen === '' || names.includes(chosen) ? names : [chosen, ...names]
  return html`<label>
    <span>On node</span>
    <select name="node" key=${chosen} aria-describedby="node-hint">
      <option value="" selected=${chosen === ''}>of the source</option>
      ${listedNames.map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${name}</option>`)}
    </select>
    <small id="node-hint">where it arrives, if from outside</small>
  </label>`
}
