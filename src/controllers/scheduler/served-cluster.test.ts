import { expect, test } from 'vitest'
import { startSecuredApi } from '../../apiserver/testing/secured-api.ts'
import { POD, PODS } from '../../apiserver/testing/test-api.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from '../testing/control-plane.ts'
import { expectSoon } from '../testing/expect-soon.ts'
import { conditionOf, readyCondition } from '../testing/fixtures.ts'

const NODES = '/api/v1/nodes'
const EVENTS = '/api/v1/namespaces/default/events'
const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const MERGE = { 'content-type': 'application/merge-patch+json' }

test('a server binds the Pods that fit, and reports why the others wait', async () => {
  const api = await startSecuredApi(controlPlaneAccounts)
  startControlPlane(api.socketPath)
  await expectSoon(api, ACCOUNTS, (items) => items.length === 1)
  await api.make(NODES, { metadata: { name: 'node-a' } })
  const status = { allocatable: { cpu: '2', pods: '9' }, conditions: [readyCondition(true)] }
  await api.call('PATCH', `${NODES}/node-a/status`, { body: { status }, headers: MERGE })
  const [main] = POD.containers
  const containers = [{ ...main, resources: { requests: { cpu: '1' } } }]
  for (const name of ['a', 'b', 'c']) {
    await api.make(PODS, { metadata: { name }, spec: { containers } })
  }
  const bound = (items: readonly JsonObject[]) =>
    items.filter((one) => stringAt(one, 'spec', 'nodeName') === 'node-a')
  const waiting = (items: readonly JsonObject[]) =>
    items.find((one) => stringAt(conditionOf(one, 'PodScheduled'), 'reason') === 'Unschedulable')
  let last: string | undefined
  await expectSoon(api, PODS, (items) => {
    const late = waiting(items)
    last = stringAt(late, 'metadata', 'name')
    return bound(items).length === 2 && late !== undefined
  })
  await expectSoon(api, EVENTS, (items) => {
    const reasons = items.map((one) => stringAt(one, 'reason')).toSorted()
    return reasons.join() === 'FailedScheduling,Scheduled,Scheduled'
  })
  const [gone] = ['a', 'b', 'c'].filter((name) => name !== last)
  const { body } = await api.call('GET', `${PODS}/${last}`)
  expect(conditionOf(body, 'PodScheduled')['message']).toBe(
    '0/1 nodes are available: 1 Insufficient cpu.',
  )
  await api.call('DELETE', `${PODS}/${gone}?gracePeriodSeconds=0`)
  await expectSoon(api, PODS, (items) => bound(items).length === 2 && items.length === 2)
})
