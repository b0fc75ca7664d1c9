import { expect, test } from 'vitest'
import { arrayAt, valueAt } from '../../lib/json.ts'
import { startApi } from '../testing/test-api.ts'

const PATH = '/apis/networking.k8s.io/v1/servicecidrs'

test('the ranges of ClusterIPs can be read and watched, and nothing else', async () => {
  const ranges = ['10.32.0.0/16', 'fd00:32::/112'] as const
  const api = await startApi({ serviceAddressRanges: [...ranges] })
  const { body } = await api.call('GET', `${PATH}/kubernetes`)
  expect(body).toMatchObject({ kind: 'ServiceCIDR', spec: { cidrs: ranges } })
  expect(valueAt(body, 'status', 'conditions')).toMatchObject([{ type: 'Ready', status: 'True' }])
  const list = await api.call('GET', PATH)
  expect(arrayAt(list.body, 'items').length).toBe(1)
  for (const [method, path] of [
    ['POST', PATH],
    ['DELETE', PATH],
    ['PUT', `${PATH}/kubernetes`],
    ['PATCH', `${PATH}/kubernetes`],
    ['DELETE', `${PATH}/kubernetes`],
  ] as const) {
    expect((await api.call(method, path, { body })).status).toBe(405)
  }
  const { body: discovered } = await api.call('GET', '/apis/networking.k8s.io/v1')
  expect(arrayAt(discovered, 'resources')).toContainEqual(
    expect.objectContaining({ name: 'servicecidrs', verbs: ['get', 'list', 'watch'] }),
  )
})
