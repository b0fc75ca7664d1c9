import { expect, test } from 'vitest'
import { refused } from '../session/call-failure.ts'
import type { StartProbe } from './probe.ts'
import type { UsedApi } from './requests.ts'
import { runTakeOver } from './run-take-over.ts'
import { FakeCluster, nodeProxyManifests } from './testing/fake-cluster.ts'

/** Moves the cluster to node-proxy with an API that `changed` has changed. */
async function move(
  cluster: FakeCluster,
  changed: (api: UsedApi) => Partial<UsedApi>,
  startProbe?: StartProbe,
) {
  const environment = cluster.environment(20_000)
  const api = { ...environment.api, ...changed(environment.api) }
  const goal = { proxy: 'node-proxy' as const, names: undefined }
  const settings = { clusterCidr: '', image: undefined, settleMs: 5_000, atOnce: 1, holder: 'test' }
  const options = { goal, manifests: nodeProxyManifests(), ...settings }
  const probed = startProbe === undefined ? {} : { startProbe }
  return runTakeOver(options, { ...environment, api, ...probed })
}

/** Answers one kind of text in another way. */
const texts =
  (path: RegExp, answer: Awaited<ReturnType<UsedApi['requestText']>>) =>
  (api: UsedApi): Partial<UsedApi> => ({
    requestText: async (call) => (path.test(call.path) ? answer : api.requestText(call)),
  })

test('a health check that fails takes the node back', async () => {
  const cluster = new FakeCluster(['a', 'b'])
  const failure = refused(503, { healthy: false })
  const { nodes, stopped } = await move(
    cluster,
    texts(/pods\/node-proxy.*healthz$/, { ok: false, failure }),
  )
  expect(nodes).toEqual([
    { node: 'a', outcome: 'back', reason: 'node-proxy answers its health check with 503' },
  ])
  expect(stopped).toBe('node a got worse: node-proxy answers its health check with 503')
  expect(cluster.label('b')).toBe('')
  expect([...cluster.rules.values()].map((rules) => [...rules])).toEqual([
    ['kube-proxy'],
    ['kube-proxy'],
  ])
  expect(cluster.violations).toEqual([])
})

test('a health check that the API server cannot ask is said, and not counted', async () => {
  const cluster = new FakeCluster(['a'])
  const failure = refused(503, { reason: 'ServiceUnavailable', message: 'no route' })
  const { stopped } = await move(
    cluster,
    texts(/pods\/node-proxy.*healthz$/, { ok: false, failure }),
  )
  expect(stopped).toBeUndefined()
  const unchecked = cluster.lines.filter((line) => line.includes('not checked'))
  expect(new Set(unchecked)).toEqual(new Set(['node a: not checked: no route']))
  expect(cluster.label('a')).toBe('node-proxy')
})

test('kube-proxy is not stopped before node-proxy has logged that its rules are written', async () => {
  const cluster = new FakeCluster(['a'])
  const { nodes } = await move(cluster, texts(/\/log$/, { ok: true, text: 'starting' }))
  expect(nodes).toEqual([
    { node: 'a', outcome: 'back', reason: 'waited 20 s for node-proxy to write its rules' },
  ])
  expect(cluster.lines).not.toContain('node a: label node-proxy')
  expect(cluster.label('a')).toBe('kube-proxy')
  expect(cluster.violations).toEqual([])
})

test('a server that is away for a while only delays', async () => {
  const cluster = new FakeCluster(['a'])
  const failure = { ...refused(0, undefined), errorCode: 'NP_CLIENT_UNREACHABLE' }
  let count = 0
  const { stopped } = await move(cluster, (api) => ({
    request: async (call) => (count++ % 7 < 5 ? { ok: false, failure } : api.request(call)),
  }))
  expect(stopped).toBeUndefined()
  expect(cluster.label('a')).toBe('node-proxy')
  expect(cluster.violations).toEqual([])
})

test('connections that fail take the node back, which the result counts, and are no reason to stop on the way', async () => {
  const cluster = new FakeCluster(['a', 'b'])
  const connections = { attempts: 9, failed: 3, held: 1, reset: 0 }
  let open = 0
  const { nodes, stopped } = await move(
    cluster,
    () => ({}),
    async () => {
      open += 1
      return {
        look: async () => (cluster.label('a') === 'both' ? undefined : failing(cluster.label('a'))),
        counts: () => connections,
        close: () => void (open -= 1),
      }
    },
  )
  expect(nodes).toEqual([{ node: 'a', outcome: 'back', reason: 'port 30080', connections }])
  expect(stopped).toBe('node a got worse: port 30080')
  expect(cluster.label('a')).toBe('kube-proxy')
  expect(open).toBe(0)
  expect(cluster.violations).toEqual([])
})

function failing(label: string): string | undefined {
  return label === '' ? undefined : 'port 30080'
}

test('where no node port answers, the node moves and the command says so', async () => {
  const cluster = new FakeCluster(['a'])
  const { nodes } = await move(
    cluster,
    () => ({}),
    async () => undefined,
  )
  expect(nodes).toEqual([{ node: 'a', outcome: 'moved' }])
  expect(cluster.lines).toContain('node a: not probed: no node port of it answers from here')
})
