import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { endpointSlice, REPLICAS, readSelecting } from './endpoints.ts'
import type { PodState } from './pod-state.ts'

const pods: readonly PodState[] = [3, 1, 2].map((serial) => ({
  name: `pod-${serial}`,
  ip: `10.244.0.1${serial}`,
  labels: { app: 'web', shard: String(serial) },
  ready: serial !== 2,
  pid: undefined,
  restarts: 0,
}))

function service(selector: JsonObject, annotations: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', resourceVersion: '7', annotations },
    spec: { selector, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  }
}

function namesOf(object: JsonObject): readonly string[] {
  const slice = endpointSlice(readSelecting(object), pods)
  return arrayAt(slice, 'endpoints').map((one) => stringAt(one, 'targetRef', 'name'))
}

test('selects pods by all labels, in order', () => {
  expect(namesOf(service({ app: 'web' }))).toEqual(['pod-1', 'pod-2', 'pod-3'])
  expect(namesOf(service({ app: 'web', shard: '3' }))).toEqual(['pod-3'])
  expect(namesOf(service({ app: 'nobody' }))).toEqual([])
})

test.each([
  ['0', 0],
  ['2', 2],
  ['9', 3],
  ['', 3],
  ['-1', 3],
  ['all', 3],
])('replicas %j leave %i of three pods', (replicas, count) => {
  expect(namesOf(service({ app: 'web' }, { [REPLICAS]: replicas }))).toHaveLength(count)
})

test('a pod whose server is gone stays, but is not ready; the daemon can read it', () => {
  const slice = endpointSlice(readSelecting(service({ app: 'web' })), pods)
  const ready = arrayAt(slice, 'endpoints').map((one) => valueAt(one, 'conditions', 'ready'))
  expect(ready).toEqual([true, false, true])
  expect(decodeEndpointSlice(slice)).toMatchObject({
    ok: true,
    warnings: [],
    value: { groups: [{ ports: [{ name: 'http', port: 8080 }] }] },
  })
})

test('a Service without a selector is left to others', () => {
  expect(readSelecting({ metadata: { name: 'x', resourceVersion: '3' } })).toMatchObject({
    selector: undefined,
    version: 3,
  })
})
