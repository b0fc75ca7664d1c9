import { expect, test } from 'vitest'
import type { JsonObject } from '../../../lib/json.ts'
import { podSummary } from './summary.ts'

const NOW = Date.UTC(2026, 0, 1, 1)
const RUNNING = { ready: true, state: { running: {} } }
const DONE = { state: { terminated: { exitCode: 0, reason: 'Completed' } } }

function waiting(reason: string) {
  return { state: { waiting: { reason } } }
}

function ended(terminated: JsonObject) {
  return { state: { terminated } }
}

function shown(status: JsonObject, spec: JsonObject = {}, metadata: JsonObject = {}) {
  const pod = { metadata, spec: { containers: [{ name: 'a' }, { name: 'b' }], ...spec }, status }
  const { ready, status: words, restarts } = podSummary(pod, NOW)
  return `${ready} ${words} ${restarts}`
}

test.each<[readonly JsonObject[], string]>([
  [[RUNNING, RUNNING], '2/2 Running 0'],
  [[RUNNING, { ready: true }], '1/2 Running 0'],
  [[waiting('CrashLoopBackOff'), DONE], '0/2 CrashLoopBackOff 0'],
  [[RUNNING, ended({ exitCode: 1, reason: 'Error' })], '1/2 Error 0'],
  [[ended({ exitCode: 137, signal: 9 })], '0/2 Signal:9 0'],
  [[ended({ exitCode: 3 })], '0/2 ExitCode:3 0'],
  [[DONE, DONE], '0/2 Completed 0'],
  [[DONE, RUNNING], '1/2 NotReady 0'],
])('containers %j: %s', (containerStatuses, expected) => {
  expect(shown({ phase: 'Running', containerStatuses: [...containerStatuses] })).toBe(expected)
})

test('a pod that is ready without one that has completed runs', () => {
  const conditions = [{ type: 'Ready', status: 'True' }]
  const status = { phase: 'Running', conditions, containerStatuses: [DONE, RUNNING] }
  expect(shown(status)).toBe('1/2 Running 0')
})

const SIDECAR = { name: 'log', restartPolicy: 'Always' }

test.each<[readonly JsonObject[], string]>([
  [[], '0/3 Pending 0'],
  [[{ ...DONE, name: 'init', restartCount: 1 }, waiting('PodInitializing')], '0/3 Init:1/2 1'],
  [[{ name: 'init', state: { running: {} } }], '0/3 Init:0/2 0'],
  [[waiting('ImagePullBackOff')], '0/3 Init:ImagePullBackOff 0'],
  [[ended({ exitCode: 1, reason: 'Error' })], '0/3 Init:Error 0'],
  [[ended({ exitCode: 1 })], '0/3 Init:ExitCode:1 0'],
  [[ended({ exitCode: 1, signal: 9 })], '0/3 Init:Signal:9 0'],
  [[DONE, { ...RUNNING, name: 'log', started: true, restartCount: 2 }], '1/3 Pending 2'],
  [[{ ...RUNNING, name: 'log' }], '0/3 Init:0/2 0'],
  [[{ ...DONE, restartCount: 5 }], '0/3 Pending 0'],
])('init containers %j: %s', (initContainerStatuses, expected) => {
  const spec = { initContainers: [{ name: 'init' }, SIDECAR] }
  const init = [...initContainerStatuses]
  expect(shown({ phase: 'Pending', initContainerStatuses: init }, spec)).toBe(expected)
  const containerStatuses = [waiting('PodInitializing')]
  const status = { phase: 'Pending', initContainerStatuses: init, containerStatuses }
  if (expected.includes('Init:')) expect(shown(status, spec)).toBe(expected)
})

test('a pod that was initialized counts its containers, too, when a sidecar fails', () => {
  const status = {
    phase: 'Running',
    conditions: [{ type: 'Initialized', status: 'True' }],
    initContainerStatuses: [{ ...waiting('CrashLoopBackOff'), name: 'log', restartCount: 2 }],
    containerStatuses: [{ ...RUNNING, restartCount: 1 }],
  }
  expect(shown(status, { initContainers: [SIDECAR] })).toBe('1/3 Init:CrashLoopBackOff 3')
})

test.each<[JsonObject, JsonObject, string]>([
  [{ phase: 'Failed', reason: 'Evicted' }, {}, 'Evicted'],
  [
    { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] },
    {},
    'SchedulingGated',
  ],
  [{ phase: 'Running' }, { deletionTimestamp: 'x' }, 'Terminating'],
  [{ phase: 'Succeeded' }, { deletionTimestamp: 'x' }, 'Succeeded'],
  [{ phase: 'Running', reason: 'NodeLost' }, { deletionTimestamp: 'x' }, 'Unknown'],
  [{ phase: 'Running', reason: 'NodeLost' }, {}, 'NodeLost'],
  [{}, {}, 'Unknown'],
])('status %j of %j: %s', (status, metadata, expected) => {
  expect(shown(status, {}, metadata)).toBe(`0/2 ${expected} 0`)
})

test('restarts say when the last one was', () => {
  const ended = (finishedAt: string) => ({ terminated: { exitCode: 1, finishedAt } })
  const containerStatuses = [
    { ...RUNNING, restartCount: 2, lastState: ended('2026-01-01T00:25:00Z') },
    { ...RUNNING, restartCount: 1, lastState: ended('2026-01-01T00:10:00Z') },
  ]
  expect(shown({ phase: 'Running', containerStatuses })).toBe('2/2 Running 3 (35m ago)')
})
