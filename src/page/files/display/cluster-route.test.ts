import { expect, test } from 'vitest'
import {
  type ClusterExplainRoute,
  type ClusterRoute,
  clusterHash,
  NODES,
  parseClusterRoute,
} from './cluster-route.ts'
import { START } from './route.ts'

const EXPLAIN: Omit<ClusterExplainRoute, 'node'> = {
  view: 'explain',
  source: 'pod/shop/web-1',
  destination: 'shop/web:http',
  protocol: '',
  inInterface: '',
}

test.each<readonly [string, ClusterRoute]>([
  ['', NODES],
  ['#/nonsense/x', NODES],
  ['#/latency', NODES],
  ['#/nodes', NODES],
  ['#/nodes/node-7', { view: 'nodes', node: 'node-7' }],
  ['#/nodes/node-7/', { view: 'node', node: 'node-7', route: START }],
  ['#/nodes/node-7/latency', { view: 'node', node: 'node-7', route: { view: 'latency' } }],
  ['#/services', { view: 'services', service: '' }],
  ['#/services/shop/web', { view: 'services', service: 'shop/web' }],
  ['#/explain?source=pod%2Fshop%2Fweb-1&destination=shop%2Fweb%3Ahttp', { ...EXPLAIN, node: '' }],
])('%s', (hash, route) => {
  expect(parseClusterRoute(hash)).toEqual(route)
})

test('what a route is written as leads back to it, whatever a name holds', () => {
  for (const name of ['node-7', 'a b/c?d#e&f=g', '<b>/"&', '%2e%2e', '..', 'ü']) {
    const service = `x/${name.replace('/', '')}`
    const routes: readonly ClusterRoute[] = [
      { view: 'nodes', node: name },
      { view: 'node', node: name, route: { view: 'problems' } },
      { view: 'node', node: name, route: { view: 'services', service } },
      { view: 'node', node: name, route: EXPLAIN },
      { ...EXPLAIN, node: name },
      { ...EXPLAIN, source: '', destination: '', node: name },
      { view: 'services', service },
    ]
    for (const route of routes) expect(parseClusterRoute(clusterHash(route))).toEqual(route)
  }
})
