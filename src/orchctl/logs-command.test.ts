import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import { runOrchctl } from './program.ts'

const PODS = '/api/v1/namespaces/default/pods'

function pod(name: string): JsonObject {
  const metadata = { name, namespace: 'default', labels: { app: 'web' } }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main' }] } }
}

const ANSWERS: Readonly<Record<string, JsonObject>> = {
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': { kind: 'APIGroupList', groups: [] },
  '/api/v1': {
    kind: 'APIResourceList',
    resources: [
      { name: 'pods', singularName: 'pod', kind: 'Pod', namespaced: true, verbs: ['get', 'list'] },
    ],
  },
  [PODS]: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [pod('a'), pod('b')] },
  [`${PODS}/a`]: pod('a'),
}

/** What the command prints while the logs of `a` and `b` arrive as `serve` sends them, once both are read. */
async function printed(args: readonly string[], serve: (logs: Logs) => Promise<void>) {
  const open = new Map<string, ServerResponse>()
  const chunks: Buffer[] = []
  let heard = (): void => undefined
  const wanted = args.includes('-l') ? 2 : 1
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://api')
    const [, name] = /pods\/(\w+)\/log$/.exec(pathname) ?? []
    if (name === undefined) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(ANSWERS[pathname]))
      return
    }
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.flushHeaders()
    open.set(name, response)
    if (open.size === wanted) void serve({ send, end: () => open.forEach((one) => one.end()) })
  })
  /** Resolves when the command has printed that many bytes in all. */
  const send = (name: string, bytes: Buffer | string, total?: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    heard = () => {
      if (Buffer.concat(chunks).length >= (total ?? 0)) resolve()
    }
    open.get(name)?.write(bytes, () => total === undefined && resolve())
    return promise
  }
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const home = mkdtempSync(join(tmpdir(), 'np-logs-'))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(home, { recursive: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await runOrchctl(['logs', ...args, '--server', url], {
    stdin: (async function* () {})(),
    stdout: {
      write: (some: string | Uint8Array) => {
        chunks.push(Buffer.from(some as Uint8Array))
        heard()
        return true
      },
    },
    stderr: { write: () => true },
    env: { HOME: home },
    version: '1',
    signal: new AbortController().signal,
  })
  return Buffer.concat(chunks)
}

interface Logs {
  readonly send: (name: string, bytes: Buffer | string, total?: number) => Promise<void>
  readonly end: () => void
}

test('the lines of logs that are followed at the same time stay whole', async () => {
  const all = await printed(['-f', '-l', 'app=web'], async ({ send, end }) => {
    await send('a', 'first of a\nsecond ', 'first of a\n'.length)
    await send('b', 'first of b\n', 'first of a\nfirst of b\n'.length)
    await send('a', 'of a\n', 'first of a\nfirst of b\nsecond of a\n'.length)
    end()
  })
  expect(String(all)).toBe('first of a\nfirst of b\nsecond of a\n')
})

test('with a prefix, too, every byte is as it was', async () => {
  const latin1 = Buffer.from('caf\u00e9 \u00a31\nend', 'latin1')
  const all = await printed(['--prefix', 'a'], async ({ send, end }) => {
    await send('a', latin1)
    end()
  })
  expect(all.toString('latin1')).toBe('[pod/a/main] caf\u00e9 \u00a31\n[pod/a/main] end')
})
