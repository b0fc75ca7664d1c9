import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

/** The answers of a server without aggregated discovery and without tables, by path. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    kind: 'APIGroupList',
    groups: [
      {
        name: 'apps',
        preferredVersion: { groupVersion: 'apps/v1' },
        versions: [{ groupVersion: 'apps/v1beta1' }, { groupVersion: 'apps/v1' }],
      },
    ],
  },
  '/api/v1': {
    kind: 'APIResourceList',
    resources: [
      {
        name: 'pods',
        singularName: 'pod',
        kind: 'Pod',
        namespaced: true,
        verbs: ['list'],
        shortNames: ['po'],
        categories: ['all'],
      },
      { name: 'pods/log', kind: 'Pod', namespaced: true, verbs: ['get'] },
      { name: 'nodes', kind: 'Node', namespaced: false, verbs: ['list'] },
    ],
  },
  '/apis/apps/v1': {
    kind: 'APIResourceList',
    resources: [
      { name: 'deployments', kind: 'Deployment', namespaced: true, verbs: ['list'] },
      { name: 'deployments/scale', kind: 'Scale', namespaced: true, verbs: ['get', 'update'] },
    ],
  },
  '/apis/authentication.k8s.io/v1beta1/selfsubjectreviews': {
    kind: 'SelfSubjectReview',
    status: { userInfo: { username: 'ann', groups: ['devs'] } },
  },
  '/api/v1/namespaces/team/pods': {
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: {},
    items: [{ metadata: { name: 'p\u001b[2J', creationTimestamp: '2026-01-01T00:00:00Z' } }],
  },
}

let url: string
let seen: IncomingMessage[]
let home: string

beforeEach(async () => {
  seen = []
  home = mkdtempSync(join(tmpdir(), 'np-orchctl-unit-'))
  const server = createServer((request, response) => {
    seen.push(request)
    if (request.url?.startsWith('/api/v1/namespaces/team/pods/lost')) {
      request.socket.destroy()
      return
    }
    const body = ANSWERS[(request.url ?? '').split('?')[0] ?? '']
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': 'application/json',
      warning: '299 - "old \\"version\\""',
    })
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

interface RunOptions {
  readonly isTTY?: boolean
  readonly env?: Readonly<Record<string, string>>
}

async function run(args: readonly string[], { isTTY = false, env = {} }: RunOptions = {}) {
  let [out, err] = ['', '']
  const code = await runOrchctl(args, {
    stdin: (async function* () {})(),
    stdout: { isTTY, write: (text) => (out += text) },
    stderr: { isTTY, write: (text) => (err += text) },
    env: { HOME: home, ...env },
    version: '1.2.3',
    signal: new AbortController().signal,
  })
  return { code, out, err }
}

test('discovers a server without aggregated discovery, and lists without tables', async () => {
  const ran = await run(['get', 'po', '-n', 'team', '--server', url])
  expect(ran).toMatchObject({ code: 0, err: 'Warning: old "version"\n' })
  expect(ran.out).toBe('NAME         CREATED AT\np\\u001b[2J   2026-01-01T00:00:00Z\n')
})

test('the resources are remembered for the next command, and searched again when one is missing', async () => {
  await run(['api-resources', '--server', url])
  const first = seen.length
  expect((await run(['api-resources', '-o', 'name', '--server', url])).out).toBe(
    'nodes\npods\ndeployments.apps\n',
  )
  expect(seen).toHaveLength(first)
  expect((await run(['get', 'pots', '--server', url])).err).toContain('did you mean pods?')
  expect(seen.length).toBeGreaterThan(first)
})

test('the resources of namespaces or of the cluster, and nothing else that --namespaced names', async () => {
  const names = async (value: string) =>
    run(['api-resources', '-o', 'name', `--namespaced=${value}`, '--server', url])
  expect((await names('true')).out).toBe('pods\ndeployments.apps\n')
  expect((await names('false')).out).toBe('nodes\n')
  expect(await names('yes')).toMatchObject({ code: 2, out: '' })
})

test('--raw requests the path as it is, with parameters that are repeated', async () => {
  await run(['get', '--raw', '/api/v1?name[]=a%20b&name[]=c', '--server', url])
  expect(seen.map((request) => request.url)).toEqual(['/api/v1?name[]=a%20b&name[]=c'])
})

test('completes the value of a global flag with the global flags before it', async () => {
  const kubeconfig = join(home, 'other')
  writeFileSync(kubeconfig, JSON.stringify({ contexts: [{ name: 'one' }, { name: 'two' }] }))
  const words = ['--kubeconfig', kubeconfig, 'get', 'pods', '--context', '']
  expect((await run(['__complete', '--', ...words])).out).toBe('one\ntwo\n')
})

test('version knows two formats', async () => {
  expect((await run(['version', '--client', '-o', 'json'])).out).toContain('"gitVersion": "v1.2.3"')
  expect(await run(['version', '--client', '-o', 'name'])).toMatchObject({ code: 2, out: '' })
})

test('impersonates by headers, of the flags or of the kubeconfig', async () => {
  await run(['get', 'po', '--server', url, '--as=ann', '--as-group=a', '--as-group=b'])
  expect(seen[0]?.headers).toMatchObject({ 'impersonate-user': 'ann', 'impersonate-group': 'a, b' })
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
    clusters: [{ name: 'c', cluster: { server: url } }],
    users: [{ name: 'u', user: { as: 'bob', token: 'hush' } }],
  }
  const path = join(home, 'config')
  writeFileSync(path, JSON.stringify(config))
  seen = []
  const ran = await run(['get', 'po', '-v=9'], { env: { KUBECONFIG: path } })
  expect(ran.code).toBe(0)
  expect(seen.at(-1)).toMatchObject({ headers: { 'impersonate-user': 'bob' } })
  expect(seen.at(-1)?.url).toMatch(/^\/api\/v1\/namespaces\/team\/pods\?limit=500/)
  // Plain HTTP: no credential leaves this machine, nor is one shown.
  expect(seen.at(-1)?.headers).not.toHaveProperty('authorization')
  expect(ran.err).toMatch(/GET http.*pods.* 200 in \d+ ms/)
  expect(ran.err).not.toContain('hush')
})

test('whoami requests the versions of the review until the server has one', async () => {
  const ran = await run(['auth', 'whoami', '--server', url])
  expect(ran).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Username +ann\nGroups +\[devs\]/),
  })
  expect(seen.map((one) => one.url)).toEqual([
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    '/apis/authentication.k8s.io/v1beta1/selfsubjectreviews',
  ])
})

test('colours the error on a terminal, unless NO_COLOR is set', async () => {
  const red = `\u001b[31m\u001b[1morchctl:`
  expect((await run(['nope'], { isTTY: true })).err.startsWith(red)).toBe(true)
  const plain = await run(['nope'], { isTTY: true, env: { NO_COLOR: '1' } })
  expect(plain.err).toMatch(/^orchctl: "nope" is no command/)
})

test('without a kubeconfig it says what to set, and ends with 2', async () => {
  const ran = await run(['get', 'pods'])
  expect(ran).toMatchObject({ code: 2, out: '' })
  expect(ran.err).toMatch(/set KUBECONFIG or --kubeconfig.*\(NP_ORCHCTL_NO_SERVER\)\n$/)
})

test.each(['-oyaml', '-owide'])(
  'a server that is lost at one of several objects ends the command with 3, not with 1: %s',
  async (output) => {
    const ran = await run(['get', 'po', 'lost', 'none', output, '-n=team', '--server', url])
    expect(ran.err).toContain('NotFound')
    expect(ran.code).toBe(3)
  },
)

test.each([
  [['get', 'po', '-o=name'], 'pod/p\\u001b[2J\n'],
  [['get', 'po', '-oname', '--watch=false'], 'pod/p\\u001b[2J\n'],
])('%j', async (args, out) => {
  const ran = await run([...args, '-n=team', '--server', url], { isTTY: true })
  expect(ran.out).toBe(out)
})
