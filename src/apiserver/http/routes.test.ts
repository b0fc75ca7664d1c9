import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { POD, SERVICES, SLICES, service, startApi } from '../testing/test-api.ts'

test.each([
  ['/api/v1/watch/services', ['default/a', 'default/b', 'other/a']],
  ['/api/v1/watch/namespaces/default/services', ['default/a', 'default/b']],
  ['/api/v1/watch/namespaces/default/services?fieldSelector=metadata.name%3Db', ['default/b']],
  ['/api/v1/watch/namespaces/default/services/b', ['default/b']],
  ['/api/v1/watch/namespaces/other', ['/other']],
  ['/api/v1/watch/nodes', ['/n1', '/n2']],
  ['/api/v1/watch/nodes/n2', ['/n2']],
  ['/apis/discovery.k8s.io/v1/watch/endpointslices', ['default/s']],
  ['/apis/discovery.k8s.io/v1/watch/namespaces/default/endpointslices/s', ['default/s']],
])('%s is a watch', async (path, expected) => {
  const api = await startApi()
  await api.make('/api/v1/namespaces', { metadata: { name: 'other' } })
  await api.make(SERVICES, service('a'))
  await api.make(SERVICES, service('b'))
  await api.make(SERVICES.replace('default', 'other'), service('a'))
  for (const name of ['n1', 'n2']) await api.make('/api/v1/nodes', { metadata: { name } })
  await api.make(SLICES, { metadata: { name: 's' }, addressType: 'IPv4', endpoints: [], ports: [] })
  const watch = await api.watch(path)
  const seen = await watch.take(expected.length)
  expect(seen.map(({ type, object }) => [type, nameOf(object)])).toEqual(
    expected.map((name) => ['ADDED', name]),
  )
  watch.close()
})

function nameOf(object: Parameters<typeof stringAt>[0]): string {
  return `${stringAt(object, 'metadata', 'namespace')}/${stringAt(object, 'metadata', 'name')}`
}

test('a watch of one object by its path hears of nothing else, and refuses what watches refuse', async () => {
  const api = await startApi()
  const path = '/api/v1/watch/namespaces/default/pods/web'
  const watch = await api.watch(path)
  for (const name of ['other', 'web']) {
    await api.make('/api/v1/namespaces/default/pods', { metadata: { name }, spec: POD })
  }
  expect(nameOf((await watch.next())?.object)).toBe('default/web')
  watch.close()
  expect((await api.call('GET', `${path}?sendInitialEvents=true`)).status).toBe(422)
  expect((await api.call('POST', path, { body: {} })).status).toBe(405)
  expect((await api.call('GET', '/api/v1/watch/nothing')).status).toBe(404)
})
