import { html } from 'htm/preact'
import { useMemo } from 'preact/hooks'
import type { ClusterApi } from '../../../data/cluster-api.ts'
import { followNode } from '../../../node/follow-node.ts'
import { nodeState } from '../../../node/node-state.ts'
import { clusterHash, nodePath } from '../../../route/cluster-route.ts'
import type { Route } from '../../../route/route.ts'
import { NodeBrand } from '../../node/node-brand.ts'
import { NodeLinks } from '../../node/node-links.ts'
import { NodeViews } from '../../node/node-views.ts'
import { Readiness } from '../../node/readiness.ts'
import { PageBaseContext } from '../../parts/page-base.ts'
import { SkipLink } from '../../parts/skip-link.ts'
import { useFollowing } from '../../parts/use-following.ts'
import { ClusterHeader, type ClusterHeaderProps } from '../header/cluster-header.ts'

interface Props {
  readonly api: ClusterApi
  readonly name: string
  readonly route: Route
  readonly header: ClusterHeaderProps
}

/** The page of one node, below the navigation of the cluster. */
export function NodePage({ api, name, route, header }: Props) {
  const { node, state, base } = useMemo(
    () => ({
      node: api.node(name),
      state: nodeState(),
      base: { path: nodePath(name), title: name },
    }),
    [api, name],
  )
  useFollowing((signal) => followNode(node, state, document, signal), [node])
  return html`<${PageBaseContext.Provider} value=${base}>
    <${SkipLink} />
    <header>
      <${ClusterHeader} ...${header} />
      <div class="node-bar">
        <p class="brand">
          <a href=${clusterHash({ view: 'nodes', node: name })} aria-label=${`${name} among the nodes`}>Node</a>
          <${NodeBrand} state=${state} name=${name} />
        </p>
        <${NodeLinks} state=${state} view=${route.view} label="This node" />
        <${Readiness} state=${state} />
      </div>
    </header>
    <main id="main" tabindex="-1"><${NodeViews} api=${node} state=${state} route=${route} /></main>
  <//>`
}
