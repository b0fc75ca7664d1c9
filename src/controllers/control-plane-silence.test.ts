import { expect, test } from 'vitest'
import { startSecuredApi } from '../apiserver/testing/secured-api.ts'
import { ENDPOINTS, SERVICES, service } from '../apiserver/testing/test-api.ts'
import { arrayAt, type Json, stringAt } from '../lib/json.ts'
import { createFastClock } from '../lib/testing/fast-clock.ts'
import { controlPlaneAccounts, startControlPlane } from './testing/control-plane.ts'
import { expectSoon } from './testing/expect-soon.ts'
import { conditionOf, readyCondition } from './testing/fixtures.ts'
import { endpoints } from './testing/shown-endpoints.ts'
import { makePod } from './testing/web-pods.ts'

const NODES = '/api/v1/nodes'
const EVENTS = '/api/v1/namespaces/default/events'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

function readyStatus(node: Json | undefined): string {
  return stringAt(conditionOf(node, 'Ready'), 'status')
}

test('the Pods of a silent node are no endpoints until it sends heartbeats again', async () => {
  const api = await startSecuredApi(controlPlaneAccounts)
  const clock = createFastClock(40)
  startControlPlane(api.socketPath, { clock })
  const metadata = { name: 'node-a' }
  const renewTime = '2026-01-01T00:00:00.000000Z'
  await api.make(LEASES, { metadata, spec: { holderIdentity: 'node-a', renewTime } })
  const conditions = [{ type: 'DiskPressure', status: 'False' }, readyCondition(true)]
  await api.make(NODES, { metadata, status: { conditions } })
  await makePod(api, 1, { spec: { nodeName: 'node-a' } })
  await api.make(SERVICES, service('web', { selector: { app: 'web' } }))
  await expectSoon(api, ENDPOINTS, endpoints('', '10.1.0.1'))
  await expectSoon(api, NODES, ([node]) => readyStatus(node) === 'Unknown')
  await expectSoon(api, EVENTS, (items) =>
    items.some((one) => stringAt(one, 'reason') === 'NodeNotReady'),
  )
  clock.slowDown()
  const headers = { 'content-type': 'application/merge-patch+json' }
  const spec = { renewTime: new Date().toISOString().replace('Z', '000Z') }
  await api.call('PATCH', `${LEASES}/node-a`, { body: { spec }, headers })
  await expectSoon(api, ENDPOINTS, endpoints('10.1.0.1'))
  const [node] = arrayAt((await api.call('GET', NODES)).body, 'items')
  expect(readyStatus(node)).toBe('True')
  expect(arrayAt(node, 'status', 'conditions')).toHaveLength(2)
})
