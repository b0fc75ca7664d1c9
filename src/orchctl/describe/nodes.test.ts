import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import type { Related } from './describer.ts'
import { describeNode } from './nodes.ts'
import { rowsText } from './rows.ts'

function container(cpu: string, more: JsonObject = {}): JsonObject {
  return { name: 'c', resources: { requests: { cpu } }, ...more }
}

const SIDECAR = { restartPolicy: 'Always' }

/** The CPU that the Pods of a node with four processors request, as `describe node` shows it. */
async function cpuRequests(spec: JsonObject): Promise<string | undefined> {
  const related: Related = {
    now: 0,
    list: async (resource) => ({ ok: true, objects: resource === 'pods' ? [{ spec }] : [] }),
    proxyStatus: async () => ({ ok: false, why: 'none' }),
  }
  const node = { metadata: { name: 'n' }, status: { allocatable: { cpu: '4' } } }
  const text = rowsText(await describeNode(node, related))
  return /^ *cpu +(\S+)/m.exec(text.slice(text.indexOf('Allocated resources')))?.[1]
}

test.each<[string, JsonObject, string]>([
  ['containers together', { containers: [container('1'), container('500m')] }, '1500m'],
  [
    'the largest init container where that is more',
    { containers: [container('1')], initContainers: [container('2'), container('3')] },
    '3',
  ],
  [
    'sidecars beside the containers',
    { containers: [container('1')], initContainers: [container('2', SIDECAR)] },
    '3',
  ],
  [
    'sidecars beside the init containers that start after them',
    {
      containers: [container('1')],
      initContainers: [container('3'), container('1', SIDECAR), container('3')],
    },
    '4',
  ],
  ['the overhead', { containers: [container('1')], overhead: { cpu: '250m' } }, '1250m'],
])('a Pod requests %s', async (_what, spec, expected) => {
  expect(await cpuRequests(spec)).toBe(expected)
})
