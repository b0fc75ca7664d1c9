import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

const POD = '/api/v1/namespaces/shop/pods/db-0'

function pod(uid: string): JsonObject {
  const controller = { kind: 'StatefulSet', name: 'db', uid: 'set', controller: true }
  const metadata = { name: 'db-0', namespace: 'shop', uid, ownerReferences: [controller] }
  return { apiVersion: 'v1', kind: 'Pod', metadata }
}

/**
 * Drains a node whose Pod `db-0` is deleted by somebody else before it is evicted; `after`: the Pod of its name from then
 * on, which is on another node. With `isInterrupted` the user interrupts the command at the first eviction. Returns the result and the requests that change something, with the first eviction's body.
 */
async function drainBeside(after: JsonObject | undefined, { isInterrupted = false } = {}) {
  const user = new AbortController()
  const writes: string[] = []
  let evicted: unknown
  const server = createServer((request, response) => void answer(request, response))
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '', 'http://api')
    const body = await text(request)
    if (request.method !== 'GET') writes.push(`${request.method} ${pathname}`)
    const send = (status: number, document: JsonObject) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(document))
    }
    if (pathname === `${POD}/eviction`) {
      evicted = JSON.parse(body)
      if (isInterrupted) {
        user.abort()
        return
      }
      return send(409, {
        kind: 'Status',
        reason: 'Conflict',
        message: 'Precondition failed',
        code: 409,
      })
    }
    if (pathname === POD) {
      return after === undefined
        ? send(404, { kind: 'Status', reason: 'NotFound', code: 404 })
        : send(200, after)
    }
    if (pathname !== '/api/v1/pods') return send(200, { metadata: { name: 'node-1' } })
    const items = evicted === undefined ? [pod('old')] : []
    send(200, { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items })
  }
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const home = mkdtempSync(join(tmpdir(), 'np-drain-'))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let [out, err] = ['', '']
  const code = await runOrchctl(['drain', 'node-1', '--server', url], {
    stdin: (async function* () {})(),
    stdout: { write: (some) => (out += some) },
    stderr: { write: (some) => (err += some) },
    env: { HOME: home },
    version: '1',
    signal: user.signal,
  })
  return { code, out, err, writes, evicted }
}

test.each([
  ['another one', pod('new')],
  ['none', undefined],
] as const)('a Pod that went by itself is not evicted again: %s has its name', async (_, after) => {
  const { code, out, err, writes, evicted } = await drainBeside(after)
  expect(evicted).toMatchObject({ deleteOptions: { preconditions: { uid: 'old' } } })
  expect(writes).toEqual(['PATCH /api/v1/nodes/node-1', `POST ${POD}/eviction`])
  expect(out).toMatch(/^node\/node-1 cordoned\nevicting pod shop\/db-0\nnode\/node-1 drained\n$/)
  expect([code, err]).toEqual([0, ''])
})

test('an interrupted drain does not say that the node is drained', async () => {
  const { code, out } = await drainBeside(undefined, { isInterrupted: true })
  expect(out).toBe('node/node-1 cordoned\nevicting pod shop/db-0\n')
  expect(code).toBe(1)
})
