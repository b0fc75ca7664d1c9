import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { startApi } from '../testing/test-api.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets'
const METADATA = { name: 'web', namespace: 'shop' }
const TEMPLATE = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main' }] } }
const SPEC = { selector: { matchLabels: { app: 'web' } }, template: TEMPLATE }

test('the defaults are one Pod, which is always restarted', () => {
  expect(applyDefaults('ReplicaSet', {})).toEqual({
    spec: {
      replicas: 1,
      template: expect.objectContaining({
        spec: expect.objectContaining({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' }),
      }),
    },
  })
  expect(applyDefaults('ReplicaSet', { spec: { replicas: 0 } })).toMatchObject({
    spec: { replicas: 0 },
  })
})

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ replicas: 0, minReadySeconds: 5 }, []],
  [{ replicas: -1 }, ['spec.replicas -1']],
  [{ minReadySeconds: 1.5 }, ['spec.minReadySeconds 1.5']],
  [{ selector: {} }, ['spec.selector {}']],
  [{ selector: { matchLabels: { app: 'x' } } }, ['spec.selector {"matchLabels":{"app":"x"}}']],
  [
    { template: { ...TEMPLATE, spec: { ...TEMPLATE.spec, restartPolicy: 'Never' } } },
    ['spec.template.spec.restartPolicy "Never"'],
  ],
])('a ReplicaSet with %j: rejected fields %j', (spec, expected) => {
  const object = applyDefaults('ReplicaSet', { metadata: METADATA, spec: { ...SPEC, ...spec } })
  expect(placesOf(validateObject('ReplicaSet', object))).toEqual(expected)
})

test('the scale of a ReplicaSet is the number of its Pods, and the query that finds them', async () => {
  const api = await startApi()
  const metadata = { name: 'web' }
  const container = { name: 'main', image: 'none' }
  const template = { ...TEMPLATE, spec: { containers: [container] } }
  await api.make(REPLICA_SETS, { metadata, spec: { ...SPEC, template, replicas: 2 } })
  const path = `${REPLICA_SETS}/web/scale`
  expect((await api.call('GET', path)).body).toMatchObject({
    spec: { replicas: 2 },
    status: { replicas: 0, selector: 'app=web' },
  })
  await api.call('PUT', path, { body: { metadata, spec: { replicas: 5 } } })
  const { body } = await api.call('GET', `${REPLICA_SETS}/web`)
  expect(body).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } })
})
