import { expect, test } from 'vitest'
import { coreEvent, type EventReport } from './core-event.ts'

const REPORT: EventReport = {
  type: 'Warning',
  reason: 'Silent',
  message: 'It is silent.',
  component: 'watcher',
  first: Date.UTC(2026, 0, 1),
  last: Date.UTC(2026, 0, 1, 0, 1),
  count: 3,
  regarding: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u1' },
}

test('it stands beside its object, names its reporter, and is named by the server', () => {
  expect(coreEvent(REPORT)).toEqual({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { generateName: 'web.', namespace: 'shop' },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u1' },
    type: 'Warning',
    reason: 'Silent',
    message: 'It is silent.',
    source: { component: 'watcher' },
    reportingComponent: 'watcher',
    reportingInstance: '',
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:01:00Z',
    count: 3,
  })
})

test('of an object of the cluster it stands in default and names no namespace', () => {
  const regarding = { ...REPORT.regarding, namespace: undefined, uid: undefined }
  expect(coreEvent({ ...REPORT, regarding, host: 'node-1' }, '5a')).toMatchObject({
    metadata: { name: 'web.5a', namespace: 'default' },
    source: { component: 'watcher', host: 'node-1' },
    reportingInstance: 'node-1',
  })
  expect(coreEvent({ ...REPORT, regarding })['involvedObject']).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'web',
  })
})

test('name and message are within the limits of the API', () => {
  const regarding = { ...REPORT.regarding, name: 'x'.repeat(253) }
  const { metadata, message } = coreEvent(
    { ...REPORT, regarding, message: 'y'.repeat(2_000) },
    '5a',
  )
  expect(metadata).toHaveProperty('name', `${'x'.repeat(250)}.5a`)
  expect(message).toBe(`${'y'.repeat(1_023)}…`)
})
