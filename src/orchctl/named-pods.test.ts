import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

const CONTAINERS = ['init', 'app', 'proxy'].map((name) => ({ name }))

/** The spec of the Deployment, and the annotations of its only Pod. */
let selector: JsonObject
let annotations: JsonObject
/** The Scale that was written last. */
let scale: JsonObject
let seen: string[]
let methods: string[]
let url: string
let home: string

function answerTo(path: string): JsonObject | undefined {
  const [init, ...containers] = CONTAINERS
  const spec = { initContainers: [init!], containers }
  const pod = { metadata: { name: 'web-1', namespace: 'default', annotations }, spec }
  const metadata = { name: 'web', namespace: 'default', uid: 'u' }
  const answers: Readonly<Record<string, JsonObject>> = {
    '/api': { versions: ['v1'] },
    '/apis': { groups: [{ versions: [{ groupVersion: 'apps/v1' }] }] },
    '/api/v1': {
      resources: [
        { name: 'pods', kind: 'Pod', namespaced: true, verbs: ['list'] },
        { name: 'services', kind: 'Service', namespaced: true, verbs: ['list'] },
      ],
    },
    '/apis/apps/v1': {
      resources: [
        { name: 'deployments', kind: 'Deployment', namespaced: true, verbs: ['list'] },
        { name: 'deployments/scale', kind: 'Scale', namespaced: true, verbs: ['get'] },
      ],
    },
    '/apis/apps/v1/namespaces/default/deployments/web': {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { selector, template: { spec: { containers: 'of the second revision' } } },
    },
    '/apis/apps/v1/namespaces/default/replicasets': {
      kind: 'ReplicaSetList',
      apiVersion: 'apps/v1',
      items: ['first', 'second'].map((which, index) => ({
        metadata: {
          name: which,
          ownerReferences: [{ uid: 'u' }],
          annotations: { 'deployment.kubernetes.io/revision': String(index + 1) },
        },
        spec: { template: { spec: { containers: `of the ${which} revision` } } },
      })),
    },
    '/apis/apps/v1/namespaces/default/deployments/web/scale': scale,
    '/api/v1/namespaces/default/pods': { kind: 'PodList', apiVersion: 'v1', items: [pod] },
    '/api/v1/namespaces/default/pods/web-1': { apiVersion: 'v1', kind: 'Pod', ...pod },
    '/api/v1/namespaces/default/pods/web-1/log': { line: 'a' },
  }
  return answers[path]
}

beforeEach(async () => {
  selector = { matchLabels: { app: 'web' } }
  annotations = {}
  scale = { kind: 'Scale', metadata: { name: 'web' }, spec: { replicas: 1 } }
  seen = []
  methods = []
  home = mkdtempSync(join(tmpdir(), 'np-orchctl-pods-'))
  const server = createServer((request, response) => {
    methods.push(request.method ?? '')
    seen.push(decodeURIComponent(request.url ?? ''))
    const body = answerTo(request.url?.split('?', 1)[0] ?? '')
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? { kind: 'Status', reason: 'NotFound', message: 'none' }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
})

async function run(...args: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runOrchctl([...args.slice(0, 1), '--server', url, ...args.slice(1)], {
    stdin: (async function* () {})(),
    stdout: { write: (text) => (out += String(text)) },
    stderr: { write: (text) => (err += String(text)) },
    env: { HOME: home },
    version: '1.2.3',
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

test.each<[JsonObject, string]>([
  [{ matchLabels: { app: 'web' } }, 'app=web'],
  [
    {
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    },
    'app=web,tier in (a,b),!old',
  ],
  [{ matchExpressions: [{ key: 'app', operator: 'Exists' }] }, 'app'],
])('the Pods of a Deployment are those of its whole selector: %j', async (given, expected) => {
  selector = given
  expect((await run('logs', 'deployment/web')).code).toBe(0)
  const requested = seen.find((path) => path.startsWith('/api/v1/namespaces/default/pods?'))
  expect(new URLSearchParams(requested?.split('?', 2)[1]).get('labelSelector')).toBe(expected)
})

test.each<[JsonObject, string]>([
  [{}, 'app'],
  [{ 'kubectl.kubernetes.io/default-container': 'proxy' }, 'proxy'],
  [{ 'kubectl.kubernetes.io/default-container': 'other' }, 'app'],
])('a command and a log are of the same container of a Pod: %j', async (given, expected) => {
  annotations = given
  await run('exec', 'web-1', '--', 'date')
  await run('logs', 'web-1')
  const containers = ['exec', 'log'].map((part) => {
    const requested = seen.find((path) => path.includes(`/pods/web-1/${part}?`))
    return new URLSearchParams(requested?.split('?', 2)[1]).get('container')
  })
  expect(containers).toEqual([expected, expected])
})

test('resources that are wanted at the same time are discovered once', async () => {
  await run('get', 'pods,deployments,services')
  expect(seen.filter((path) => path === '/api')).toHaveLength(1)
})

test.each(['abc', '65536', '-1', ''])('%j is no node port', async (text) => {
  const words = ['--tcp=80', `--node-port=${text}`, '--dry-run=client', '-o', 'json']
  const ran = await run('create', 'service', 'nodeport', 'web', ...words)
  expect(ran).toMatchObject({ code: 2, out: '' })
})

test('scale prints the object in the format of -o', async () => {
  const ran = await run('scale', 'deployment/web', '--replicas=2', '-o', 'jsonpath={.kind}')
  expect(ran).toEqual({ code: 0, out: 'Deployment', err: '' })
  expect(await run('scale', 'deployment/web', '--replicas=2', '-o', 'xml')).toMatchObject({
    code: 2,
  })
})

const RUN = ['--dry-run=client', '-o', 'jsonpath={.metadata.labels}{.metadata.annotations}{.spec}']

test.each<[string[], string]>([
  [['label', 'deployment/web', 'tier=a', 'old-'], '{"tier":"a"}'],
  [['annotate', 'deployment/web', 'why=so'], '{"why":"so"}'],
  [['scale', 'deployment/web', '--replicas=7'], '"replicas":7'],
  [['set', 'image', 'pod/web-1', 'app=new:1', 'init=init:2'], '{"image":"new:1","name":"app"}'],
  [['set', 'image', 'pod/web-1', '*=new:1'], '{"image":"new:1","name":"proxy"}'],
  [['rollout', 'restart', 'deployment/web'], '"kubectl.kubernetes.io/restartedAt":"2'],
  [['rollout', 'pause', 'deployment/web'], '"paused":true'],
  [['rollout', 'undo', 'deployment/web'], '"containers":"of the first revision"'],
])(
  '%j shows with --dry-run=client what would be sent, and sends nothing',
  async (words, expected) => {
    const ran = await run(...words, ...RUN)
    expect(ran).toMatchObject({ code: 0, err: '' })
    expect(ran.out).toContain(expected)
    expect(methods.filter((method) => method !== 'GET')).toEqual([])
  },
)
