import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type Json, parseJson, valueAt } from '../../lib/json.ts'
import { runOrchctl } from '../program.ts'
import type { Call } from '../session/api.ts'
import { runTakeOver } from './run-take-over.ts'
import { FakeCluster, nodeProxyManifests } from './testing/fake-cluster.ts'

const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const CONFIG_MAP = '/api/v1/namespaces/kube-system/configmaps/kube-proxy'

interface Served {
  readonly version?: string
  /** Whether the user has a right. Default: every one. */
  readonly isAllowed?: (right: Json) => boolean
}

/** A program `orchctl` for a cluster that is served over HTTP. */
async function serve(
  cluster: FakeCluster,
  { version = 'v1.31.0', isAllowed = () => true }: Served = {},
) {
  const { api } = cluster.environment()
  const server = createServer((request, response) => {
    void answer().then(({ code, body }) => {
      response.writeHead(code, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })
    async function answer(): Promise<{ readonly code: number; readonly body: Json }> {
      const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://fake')
      const hasBody = request.method === 'POST' || request.method === 'PATCH'
      const sent = hasBody ? ((await json(request)) as Json) : undefined
      if (path === '/version') return { code: 200, body: { gitVersion: version } }
      if (path === REVIEW) {
        const right = valueAt(sent, 'spec', 'resourceAttributes') ?? null
        return { code: 201, body: { status: { allowed: isAllowed(right) } } }
      }
      if (path === '/apis/apps/v1/daemonsets') {
        const sets = [...cluster.objects.values()].filter(({ kind }) => kind === 'DaemonSet')
        return { code: 200, body: { items: sets } }
      }
      const call = { method: request.method, path, query: Object.fromEntries(searchParams) }
      const result = await api.request({
        ...call,
        ...(sent === undefined ? {} : { body: sent }),
      } as Call)
      return result.ok
        ? { code: 200, body: result.value.body }
        : { code: result.failure.code, body: { reason: result.failure.reason } }
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async (...args: readonly string[]) => {
    const said = { stdout: '', stderr: '' }
    const code = await runOrchctl(['take-over', '--server', url, ...args], {
      stdin: (async function* () {})(),
      stdout: { write: (text) => void (said.stdout += String(text)) },
      stderr: { write: (text) => void (said.stderr += String(text)) },
      env: {},
      version: '1',
      signal: new AbortController().signal,
    })
    return { code, ...said }
  }
}

const settings = { clusterCidr: '', image: undefined, settleMs: 5_000, atOnce: 1, holder: 'test' }
const manifests = nodeProxyManifests()

test('without --yes the plan is printed, and nothing is changed', async () => {
  const cluster = new FakeCluster(['a', 'b'])
  const before = cluster.stored()
  const orchctl = await serve(cluster)
  const steps =
    'start node-proxy beside kube-proxy; wait until its rules are in the kernel; stop kube-proxy; remove the rules of kube-proxy'
  expect(await orchctl()).toEqual({
    code: 0,
    stderr: '',
    stdout: `a: ${steps}\nb: ${steps}\n2 nodes move to node-proxy, at most 1 at once. Nothing has been changed; --yes does it.\n`,
  })
  const { code, stdout } = await orchctl('b', '--yes', '--dry-run', '-o', 'json')
  expect([code, parseJson(stdout)]).toEqual([
    0,
    { findings: [], nodes: [{ node: 'b', steps: steps.split('; ') }] },
  ])
  expect(cluster.stored()).toEqual(before)
})

test('rights are reviewed by resource, subresource and the whole group', async () => {
  const reviewed: Json[] = []
  const isAllowed = (right: Json) => reviewed.push(right) > 0
  const orchctl = await serve(new FakeCluster(['a']), { isAllowed })
  await orchctl()
  const namespace = 'kube-system'
  const lease = { group: 'coordination.k8s.io', resource: 'leases', subresource: '', namespace }
  const nodes = { group: '', resource: 'nodes', subresource: '', namespace: '' }
  const log = { group: '', resource: 'pods', subresource: 'log', namespace }
  const set = { group: 'apps', resource: 'daemonsets', subresource: '', namespace }
  for (const right of [
    { verb: 'update', ...lease },
    { verb: 'patch', ...nodes },
    { verb: 'get', ...log },
    { verb: 'create', ...set },
  ]) {
    expect(reviewed).toContainEqual(right)
  }
})

test('a refusal changes nothing, even with --yes', async () => {
  const cluster = new FakeCluster(['a'])
  cluster.objects.set(CONFIG_MAP, {
    kind: 'ConfigMap',
    metadata: { name: 'kube-proxy', namespace: 'kube-system' },
    data: { 'config.conf': 'mode: ipvs\n' },
  })
  const before = cluster.stored()
  const orchctl = await serve(cluster, { version: 'v1.19.3', isAllowed: () => false })
  const { code, stdout } = await orchctl('nowhere', '--yes')
  expect(code).toBe(1)
  const lines = stdout.split('\n').filter(Boolean)
  expect(lines.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
    'refused: Node nowhere',
    'refused: the API server',
    'refused: ConfigMap kube-system/kube-proxy',
    ...Array.from({ length: 10 }, () => 'refused: the user'),
  ])
  expect(stdout).toContain('may not patch daemonsets.apps; give the rights')
  expect(cluster.stored()).toEqual(before)
})

test('the ConfigMap that is created has the range of kube-proxy', async () => {
  const cluster = new FakeCluster(['a'])
  const goal = { proxy: 'node-proxy' as const, names: undefined }
  const options = { ...settings, goal, manifests, clusterCidr: '10.0.0.0/8' }
  await runTakeOver(options, cluster.environment())
  const created = cluster.objects.get(CONFIG_MAP.replace('kube-proxy', 'node-proxy'))
  expect(created).toMatchObject({
    metadata: { labels: { 'orch.io/made-by': 'orchctl-take-over' } },
    data: { 'config.yaml': 'mode: iptables\nclusterCIDR: 10.0.0.0/8\n' },
  })
})

test('where everything is done, running again does nothing', async () => {
  const cluster = new FakeCluster(['a'])
  const orchctl = await serve(cluster)
  expect(await orchctl('--back', '--yes')).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(await orchctl('--back')).toMatchObject({
    stdout: 'No node has to move: kube-proxy serves them.\n',
  })
})

test.each([
  ['--at-once', '0', '--at-once "0" is no number of nodes'],
  ['--at-once', '101', '--at-once "101" is no number of nodes'],
  ['--timeout', 'soon', '--timeout "soon" is no duration'],
  ['--settle', '-1s', '--settle "-1s" is no duration'],
])('%s %s is refused', async (flag, value, message) => {
  const orchctl = await serve(new FakeCluster(['a']))
  const { code, stderr } = await orchctl(`${flag}=${value}`)
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
})
