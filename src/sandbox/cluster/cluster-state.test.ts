import { expect, test } from 'vitest'
import { readExamples } from './cluster.ts'
import { readSlice } from './cluster-state.ts'

test('backends are named by pod, else by address and node', async () => {
  const slice = {
    metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [
      { addresses: ['10.244.0.11'], targetRef: { name: 'pod-1' } },
      { addresses: ['10.244.0.12'], targetRef: { name: 'pod-2' }, conditions: { ready: false } },
    ],
  }
  expect(readSlice(slice)).toEqual({ service: 'web', ready: ['pod-1'], notReady: ['pod-2'] })
  const [elsewhere] = (await readExamples())
    .filter(({ kind }) => kind === 'EndpointSlice')
    .map(readSlice)
  expect(elsewhere).toEqual({
    service: 'web-elsewhere',
    ready: ['10.244.9.9 on another-node'],
    notReady: [],
  })
})
