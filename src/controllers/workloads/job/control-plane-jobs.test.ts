import { beforeEach, expect, test } from 'vitest'
import { type SecuredApi, startSecuredApi } from '../../../apiserver/testing/secured-api.ts'
import { PODS } from '../../../apiserver/testing/test-api.ts'
import { arrayAt, isJsonObject, stringAt } from '../../../lib/json.ts'
import { controlPlaneAccounts, startControlPlane } from '../../testing/control-plane.ts'
import { expectGone, expectSoon } from '../../testing/expect-soon.ts'
import { jobLife } from '../testing/served-jobs.ts'

const EVENTS = '/api/v1/namespaces/default/events'

let api: SecuredApi

beforeEach(async () => {
  api = await startSecuredApi(controlPlaneAccounts)
  startControlPlane(api.socketPath)
})

test('Jobs end, lose Pods that they do not want, and are deleted with their Pods or without them', async () => {
  await jobLife(api)
  const { body } = await api.call('GET', EVENTS)
  const seen = arrayAt(body, 'items')
    .filter(isJsonObject)
    .filter((one) => stringAt(one, 'involvedObject', 'kind') === 'Job')
    .map((one) => {
      const words = [['involvedObject', 'name'], ['reason'], ['source', 'component']]
      return words.map((path) => stringAt(one, ...path)).join(' ')
    })
  expect(seen.toSorted()).toEqual([
    'done Completed job-controller',
    'done SuccessfulCreate job-controller',
    'done SuccessfulCreate job-controller',
    'idle SuccessfulCreate job-controller',
    'idle SuccessfulCreate job-controller',
    'idle SuccessfulDelete job-controller',
    'left SuccessfulCreate job-controller',
    'left SuccessfulCreate job-controller',
  ])
})

test('a namespace is deleted with Jobs whose Pods are not counted', async () => {
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  const template = {
    spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'none' }] },
  }
  const others = PODS.replace('default', 'other')
  await api.make('/apis/batch/v1/namespaces/other/jobs', {
    metadata: { name: 'work' },
    spec: { template, parallelism: 2 },
  })
  await expectSoon(api, others, (items) => items.length === 2)
  await api.call('DELETE', '/api/v1/namespaces/other')
  await expectGone(api, '/api/v1/namespaces/other')
})
