import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import {
  absentPod,
  isServedBy,
  type PodState,
  readPod,
  readService,
  readSlice,
} from './cluster-state.ts'

const service = (spec: JsonObject, ingress: JsonObject[] = []) =>
  readService({ metadata: { name: 'web' }, spec, status: { loadBalancer: { ingress } } })

const slice = (...pods: readonly (readonly [name: string, ready: boolean])[]) =>
  readSlice({
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: pods.map(([name, ready]) => ({ targetRef: { name }, conditions: { ready } })),
  })

const pod = (name: string, state: Partial<PodState> = {}): PodState => ({
  ...absentPod(name),
  labels: { app: 'web' },
  ready: true,
  ...state,
})

const WEB = { selector: { app: 'web' } }
const BALANCED = { ...WEB, type: 'LoadBalancer' }
const both = [pod('a'), pod('b')]

test.each([
  ['all ready pods', service(WEB), both, [slice(['b', true], ['a', true])], true],
  ['in two slices', service(WEB), both, [slice(['b', true]), slice(['a', true])], true],
  ['one is missing', service(WEB), both, [slice(['a', true])], false],
  ['one is listed as unready', service(WEB), both, [slice(['a', true], ['b', false])], false],
  ['one is dead', service(WEB), [pod('a'), pod('b', { ready: false })], [slice(['a', true])], true],
  ['one leaves', service(WEB), [pod('a'), pod('b', { leaving: true })], [slice(['a', true])], true],
  ['other labels', service(WEB), [pod('a'), pod('b', { labels: {} })], [slice(['a', true])], true],
  ['no selector', service({}), both, [], true],
  ['no address yet', service(BALANCED), both, [slice(['a', true], ['b', true])], false],
  ['an address', service(BALANCED, [{ ip: '198.51.100.10' }]), [], [], true],
])('%s: %#', (_case, one, pods, slices, expected) => {
  expect(isServedBy(one, pods, slices)).toBe(expected)
})

test('the state of a pod is that of its status', () => {
  const containerStatuses = [{ containerID: 'process://4711', state: { running: {} } }]
  const conditions = [{ type: 'Ready', status: 'True' }]
  const metadata = { name: 'pod-1', uid: 'u', labels: { app: 'web' } }
  const status = { podIP: '10.244.0.2', conditions, containerStatuses }
  expect(readPod({ metadata, status })).toEqual({
    name: 'pod-1',
    uid: 'u',
    ip: '10.244.0.2',
    labels: { app: 'web' },
    ready: true,
    leaving: false,
    pid: 4711,
  })
  const ended = [{ containerID: 'process://4711', state: { terminated: { exitCode: 137 } } }]
  expect(readPod({ metadata, status: { containerStatuses: ended } })).toMatchObject({
    ready: false,
    pid: undefined,
  })
})
