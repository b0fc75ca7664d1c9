import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

const PODS = '/api/v1/namespaces/default/pods'
const NOT_FOUND = [404, { kind: 'Status', reason: 'NotFound', code: 404, message: 'gone' }] as const
const OVERLOADED = [503, { kind: 'Status', code: 503, message: 'starting' }] as const

type Answer = readonly [status: number, document: JsonObject]

function pod(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', uid: 'u' } }
}

/** Runs `orchctl delete` beside a server with Pods, whose answers follow each other by method and path. */
async function deleteOf(
  args: readonly string[],
  answers: Readonly<Record<string, readonly (Answer | 'interrupt')[]>> = {},
) {
  const user = new AbortController()
  const left = new Map(Object.entries(answers).map(([key, all]) => [key, [...all]]))
  const writes: string[] = []
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://api')
    if (request.method === 'DELETE') writes.push(pathname)
    const next = left.get(`${request.method} ${pathname}`)?.shift()
    if (next === 'interrupt') {
      user.abort()
      return
    }
    const [status, document] = next ?? discovered(pathname) ?? NOT_FOUND
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const home = mkdtempSync(join(tmpdir(), 'np-delete-'))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
  const file = join(home, 'pods.json')
  writeFileSync(file, JSON.stringify(pod('a')))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let [out, err] = ['', '']
  const given = args.map((arg) => (arg === 'FILE' ? file : arg))
  const code = await runOrchctl(['delete', ...given, '--server', url], {
    stdin: (async function* () {})(),
    stdout: { write: (some) => (out += some) },
    stderr: { write: (some) => (err += some) },
    env: { HOME: home },
    version: '1',
    signal: user.signal,
  })
  return { code, out, err, writes }
}

/** What a server answers about its resources. */
function discovered(pathname: string): Answer | undefined {
  const verbs = ['delete', 'get', 'list']
  const pods = { name: 'pods', singularName: 'pod', kind: 'Pod', namespaced: true, verbs }
  const documents: Readonly<Record<string, JsonObject>> = {
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', groups: [] },
    '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [pods] },
  }
  const document = documents[pathname]
  return document === undefined ? undefined : [200, document]
}

const LIST: Answer = [
  200,
  { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [pod('a'), pod('b')] },
]

test.each([
  [['-f', 'FILE', '-l', 'app=old'], '-f does not go with -l'],
  [['-f', 'FILE', '--field-selector', 'spec.nodeName=n'], '-f does not go with -l'],
  [['-f', 'FILE', '--all'], '-f does not go with -l'],
  [['-f', 'FILE', '-A'], '-f does not go with -l'],
  [['pod', 'a', '--now', '--grace-period=3'], '--now does not go with --grace-period'],
  [['pod', 'a', '--force', '--grace-period=3'], '--force does not go with --grace-period=3'],
])('%j is refused, and nothing is deleted', async (args, message) => {
  const { code, err, writes } = await deleteOf(args)
  expect(err).toContain(message)
  expect([code, writes]).toEqual([2, []])
})

test('an object that was selected and is gone by then is no error; a named one is', async () => {
  const selected = { [`GET ${PODS}`]: [LIST], [`DELETE ${PODS}/a`]: [NOT_FOUND] }
  const answers = { ...selected, [`DELETE ${PODS}/b`]: [[200, pod('b')] as const] }
  expect(await deleteOf(['pods', '--all'], answers)).toMatchObject({
    code: 0,
    out: 'pod "b" deleted\n',
    err: '',
  })
  expect(await deleteOf(['pod', 'a'])).toMatchObject({ code: 1, out: '' })
})

test('--dry-run=none deletes, and waits', async () => {
  const waits = { [`DELETE ${PODS}/a`]: [[200, pod('a')] as const] }
  expect(await deleteOf(['pod', 'a', '--dry-run=none'], waits)).toMatchObject({
    code: 0,
    out: 'pod "a" deleted\n',
  })
})

test('a server that cannot answer meanwhile is reported once, and waited for', async () => {
  const { code, err } = await deleteOf(['pod', 'a'], {
    [`DELETE ${PODS}/a`]: [[200, pod('a')]],
    [`GET ${PODS}/a`]: [OVERLOADED, OVERLOADED, [200, pod('a')]],
  })
  expect(err).toBe('waiting until pod "a" is gone: starting; trying again\n')
  expect(code).toBe(0)
})

test('what still exists is named; of what an interrupted wait did not see, nothing is said', async () => {
  const held = { [`DELETE ${PODS}/a`]: [[200, pod('a')] as const] }
  const present = Array.from({ length: 20 }, () => [200, pod('a')] as const)
  const late = await deleteOf(['pod', 'a', '--timeout=100ms'], {
    ...held,
    [`GET ${PODS}/a`]: present,
  })
  expect(late.err).toBe('orchctl: pod "a" still exists; finalizers or Pods may keep it\n')
  expect(late.code).toBe(1)
  const cut = await deleteOf(['pod', 'a'], { ...held, [`GET ${PODS}/a`]: ['interrupt'] })
  expect(cut).toMatchObject({ code: 1, err: '' })
})
