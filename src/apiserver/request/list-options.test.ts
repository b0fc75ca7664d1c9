import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { POD, PODS, SERVICES, service, startApi } from '../testing/test-api.ts'

test.each(['watch', 'watch=', 'watch=yes', 'watch=1', 'watch=TRUE'])(
  '?%s is a watch',
  async (query) => {
    const api = await startApi()
    await api.make(SERVICES, service('web'))
    const watch = await api.watch(`${SERVICES}?${query}`)
    expect((await watch.next())?.type).toBe('ADDED')
    watch.close()
  },
)

test.each(['', 'watch=0', 'watch=false', 'watch=False', 'watch=false&watch=true'])(
  '?%s is a list',
  async (query) => {
    const api = await startApi()
    expect((await api.call('GET', `${SERVICES}?${query}`)).body['kind']).toBe('ServiceList')
  },
)

test('GET of one object is never a watch', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  expect((await api.call('GET', `${SERVICES}/web?watch=1`)).body).toEqual(made)
})

test.each([
  ['continue=TOKEN&resourceVersion=1', 400, 'not allowed when using continue'],
  ['continue=TOKEN&resourceVersion=0', 200, ''],
  ['continue=TOKEN&resourceVersionMatch=Exact', 422, 'forbidden when continue is provided'],
  ['sendInitialEvents=true', 422, 'sendInitialEvents is forbidden for list'],
  ['sendInitialEvents=false', 422, 'sendInitialEvents is forbidden for list'],
  ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1', 422, 'for list'],
])('a list with %s is %i', async (query, status, message) => {
  const api = await startApi()
  for (const name of ['a', 'b']) await api.make(SERVICES, service(name))
  const first = (await api.call('GET', `${SERVICES}?limit=1`)).body
  const token = stringAt(first, 'metadata', 'continue')
  const answer = await api.call('GET', `${SERVICES}?${query.replace('TOKEN', token)}`)
  expect(answer.status).toBe(status)
  expect(stringAt(answer.body, 'message')).toContain(message)
})

test.each(['', '&watch=1'])('a timeout must be a number of seconds%s', async (more) => {
  const api = await startApi()
  expect((await api.call('GET', `${SERVICES}?timeoutSeconds=x${more}`)).status).toBe(400)
})

test('a watch follows an object across the bound of its selector', async () => {
  const api = await startApi()
  const watch = await api.watch(`${SERVICES}?watch=1&labelSelector=${encodeURIComponent('n>1')}`)
  for (const n of ['1', '2']) await api.make(SERVICES, service(`a${n}`, {}, { labels: { n } }))
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = { metadata: { labels: { n: '0' } } }
  await api.call('PATCH', `${SERVICES}/a2`, { body, headers })
  const seen = await watch.take(2)
  expect(seen.map(({ type, object }) => [type, stringAt(object, 'metadata', 'name')])).toEqual([
    ['ADDED', 'a2'],
    ['DELETED', 'a2'],
  ])
  watch.close()
})

test.each([
  [PODS, 'spec.serviceAccountName=robot'],
  [PODS, 'spec.restartPolicy=Never'],
  [PODS, 'spec.schedulerName=mine'],
  [PODS, 'status.podIP=10.1.0.9'],
  [SERVICES, 'spec.type=ExternalName'],
  ['/api/v1/nodes', 'spec.unschedulable=true'],
  ['/api/v1/namespaces', 'status.phase=Terminating'],
])('%s can be selected by %s', async (path, selector) => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'other' }, spec: POD })
  const own = { serviceAccountName: 'robot', restartPolicy: 'Never', schedulerName: 'mine' }
  await api.make(PODS, { metadata: { name: 'chosen' }, spec: { ...POD, ...own } })
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = { status: { podIP: '10.1.0.9' } }
  await api.call('PATCH', `${PODS}/chosen/status`, { body, headers })
  await api.make(SERVICES, service('other'))
  await api.make(SERVICES, service('chosen', { type: 'ExternalName', externalName: 'a.b' }))
  await api.make('/api/v1/nodes', { metadata: { name: 'other' } })
  await api.make('/api/v1/nodes', { metadata: { name: 'chosen' }, spec: { unschedulable: true } })
  await api.make('/api/v1/namespaces', { metadata: { name: 'chosen' } })
  await api.make('/api/v1/namespaces/chosen/services', service('left'))
  await api.call('DELETE', '/api/v1/namespaces/chosen')
  const list = await api.call('GET', `${path}?fieldSelector=${encodeURIComponent(selector)}`)
  const names = (list.body['items'] as JsonObject[]).map((one) => stringAt(one, 'metadata', 'name'))
  expect(names).toEqual(['chosen'])
})
