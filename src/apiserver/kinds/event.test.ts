import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { startApi } from '../testing/test-api.ts'
import { events } from './event.ts'

const V1 = '/apis/events.k8s.io/v1/namespaces/default/events'
const CORE = '/api/v1/namespaces/default/events'
const ABOUT = { kind: 'Node', name: 'n', apiVersion: 'v1' }
const EVENT = {
  metadata: { name: 'e.1' },
  regarding: ABOUT,
  note: 'the proxy has started',
  reason: 'Starting',
  action: 'StartKubeProxy',
  type: 'Normal',
  reportingController: 'kube-proxy',
  reportingInstance: 'kube-proxy-n',
  eventTime: '2030-01-02T03:04:05.000006Z',
  series: { count: 2, lastObservedTime: '2030-01-02T03:04:06.000000Z' },
  deprecatedCount: 3,
  deprecatedFirstTimestamp: '2030-01-02T03:04:05Z',
}

test('an Event of events.k8s.io is the same in the core group, and back', async () => {
  const api = await startApi()
  const made = await api.make(V1, EVENT)
  expect(made).toMatchObject({ ...EVENT, apiVersion: 'events.k8s.io/v1', kind: 'Event' })
  const core = await api.call('GET', `${CORE}/e.1`)
  expect(core.body).toMatchObject({
    apiVersion: 'v1',
    involvedObject: ABOUT,
    message: EVENT.note,
    reportingComponent: 'kube-proxy',
    count: 3,
    firstTimestamp: EVENT.deprecatedFirstTimestamp,
    series: EVENT.series,
  })
  expect(core.body).not.toHaveProperty('note')
  const moved = { ...core.body, message: 'it has started again', count: 4 }
  await api.call('PUT', `${CORE}/e.1`, { body: moved })
  const { body } = await api.call('GET', `${V1}/e.1`)
  expect(body).toMatchObject({ note: 'it has started again', deprecatedCount: 4, regarding: ABOUT })
})

test('the last time of a series is when the Event was seen last, and its count is the count', async () => {
  const clock = new FakeClock(Date.parse('2030-01-02T04:03:06Z'))
  const api = await startApi({ clock })
  const { deprecatedCount: _count, deprecatedFirstTimestamp: _first, ...series } = EVENT
  const observed = { count: 7, lastObservedTime: '2030-01-02T03:54:06.000000Z' }
  await api.make(V1, { ...series, series: observed })
  const { body } = await api.call('GET', `${CORE}?includeObject=None`, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  })
  const [{ cells } = { cells: [] }] = body['rows'] as { cells: unknown[] }[]
  expect(cells).toEqual([
    '9m',
    'Normal',
    'Starting',
    'node/n',
    'kube-proxy',
    'the proxy has started',
    '7',
    'e.1',
  ])
  const { eventTime } = EVENT
  const core = { eventTime, metadata: { creationTimestamp: eventTime }, series: observed }
  expect(events.expiry?.lastSeen(core)).toBe(Date.parse(observed.lastObservedTime))
})

test('a patch of one group is in its own names', async () => {
  const api = await startApi()
  await api.make(V1, EVENT)
  const patched = await api.call('PATCH', `${V1}/e.1`, {
    body: { note: 'newer', series: { count: 9 } },
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
  })
  expect(patched.body).toMatchObject({ note: 'newer', series: { count: 9 } })
  const table = await api.call('GET', V1, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  })
  expect(table.text).toContain('newer')
})

test('each group selects by its own names of fields', async () => {
  const api = await startApi()
  await api.make(V1, EVENT)
  const found = async (path: string, selector: string) => {
    const { body } = await api.call('GET', `${path}?fieldSelector=${selector}`)
    return body['items'] ?? body['code']
  }
  const selector = 'regarding.name=n,reportingController=kube-proxy,type=Normal'
  expect(await found(V1, selector)).toHaveLength(1)
  expect(await found(V1, 'regarding.name=m')).toEqual([])
  expect(await found(CORE, 'involvedObject.name=n')).toHaveLength(1)
  expect(await found(CORE, 'regarding.name=n')).toBe(400)
})
