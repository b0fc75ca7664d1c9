import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../../apiserver/testing/secured-api.ts'
import { PODS } from '../../apiserver/testing/test-api.ts'
import { stringAt } from '../../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from '../testing/control-plane.ts'
import { expectSoon } from '../testing/expect-soon.ts'
import { daemonSetLife, type SetLife, statefulSetLife } from './testing/served-sets.ts'

const APPS = '/apis/apps/v1/namespaces/default'
const EVENTS = '/api/v1/namespaces/default/events'

let api: SecuredApi

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  startControlPlane(api.socketPath)
})

/** The life of a set whose Pods have these names. */
function lifeWith(...names: readonly string[]): SetLife {
  const pods = (image: string): readonly string[] => names.map((name) => `${name} ${image}`)
  return {
    made: { pods: pods('one'), revisions: ['1 one'] },
    changed: { pods: pods('two'), revisions: ['1 one', '2 two'] },
    undone: { pods: pods('one'), revisions: ['2 two', '3 one'] },
    forgotten: { pods: pods('one'), revisions: ['3 one'] },
    deleted: { pods: [], revisions: [] },
  }
}

test('a DaemonSet rolls out, goes back by its revision, and is deleted with all that it made', async () => {
  expect(await daemonSetLife(api)).toEqual(lifeWith('daemon-a', 'daemon-b'))
})

test('a StatefulSet rolls out, goes back by its revision, and is deleted with all that it made', async () => {
  expect(await statefulSetLife(api)).toEqual(lifeWith('state-0', 'state-1'))
})

test('a StatefulSet with claims for volumes is told that there are none', async () => {
  const labels = { app: 'db' }
  const volumeMounts = [{ name: 'data', mountPath: '/data' }]
  await api.make(`${APPS}/statefulsets`, {
    metadata: { name: 'db' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image: 'none', volumeMounts }] },
      },
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: [] } }],
    },
  })
  await expectSoon(api, EVENTS, (items) =>
    items.some(
      (one) =>
        stringAt(one, 'reason') === 'FailedCreate' &&
        stringAt(one, 'message').startsWith('spec.volumeClaimTemplates: '),
    ),
  )
  await expectSoon(api, PODS, (items) => items.length === 0)
})
