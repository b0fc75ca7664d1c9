import { mkdtempDisposable } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMemoryStore } from '../../storage/memory-store.ts'
import { createApiServer } from '../api-server.ts'
import { SERVICES, startApi } from '../testing/test-api.ts'

test('before its caches are loaded a server is alive, not ready, and serves no resources', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'lifecycle-'))
  const socketPath = join(folder.path, 'server.sock')
  const [isRequested, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store = createMemoryStore()
  const list: typeof store.list = async (query) => {
    isRequested.resolve()
    await mayAnswer.promise
    return store.list(query)
  }
  const server = createApiServer({ store: { ...store, list }, clock: new FakeClock() })
  const listening = server.listen({ socketPath })
  await isRequested.promise
  expect(await get(socketPath, '/livez')).toEqual([200, 'ok'])
  expect(await get(socketPath, '/readyz')).toEqual([
    503,
    '[+]ping ok\n[+]store ok\n[-]caches failed: they are being loaded\n[+]start ok\n[+]shutdown ok\n[+]conditions ok\nreadyz check failed\n',
  ])
  expect(await get(socketPath, SERVICES)).toEqual([503, expect.stringContaining('is starting')])
  mayAnswer.resolve()
  await listening
  expect(await get(socketPath, '/readyz')).toEqual([200, 'ok'])
  expect(await get(socketPath, SERVICES)).toEqual([200, expect.stringContaining('ServiceList')])
  await server.close()
  await store.close()
})

test('a server whose store fails at the start listens no longer', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'lifecycle-'))
  const socketPath = join(folder.path, 'server.sock')
  const txn = () => Promise.reject(new Error('gone'))
  const server = createApiServer({ store: { ...createMemoryStore(), txn } })
  await expect(server.listen({ socketPath })).rejects.toThrow('gone')
  await expect(get(socketPath, '/livez')).rejects.toThrow('connect')
})

function get(socketPath: string, path: string): Promise<readonly [status: number, body: string]> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, agent: false }, (response) => {
      text(response).then((body) => resolve([response.statusCode ?? 0, body]), reject)
    })
    sent.once('error', reject)
    sent.end()
  })
}

function getBy(agent: Agent, url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      response.resume().once('end', () => resolve(response))
    })
    sent.once('error', reject)
    sent.end()
  })
}

test('a server is not ready before the program around it is', async () => {
  let startFault: string | undefined = 'it is starting'
  const api = await startApi({ startFault: () => startFault })
  const ready = async () => {
    const { status, text } = await api.call('GET', '/readyz')
    return [status, text] as const
  }
  expect(await ready()).toEqual([503, expect.stringContaining('[-]start failed: it is starting\n')])
  expect((await api.call('GET', '/livez')).status).toBe(200)
  expect((await api.call('GET', SERVICES)).status).toBe(200)
  startFault = undefined
  expect(await ready()).toEqual([200, 'ok'])
})

test('a server that drains is not ready, and serves on', async () => {
  const api = await startApi()
  api.server.drain()
  const answer = await api.call('GET', '/readyz')
  expect([answer.status, answer.text]).toEqual([
    503,
    '[+]ping ok\n[+]store ok\n[+]caches ok\n[+]start ok\n[-]shutdown failed: the server is stopping\n[+]conditions ok\nreadyz check failed\n',
  ])
  expect((await api.call('GET', '/livez')).status).toBe(200)
  expect((await api.call('GET', '/healthz')).status).toBe(200)
  expect((await api.call('GET', SERVICES)).status).toBe(200)
})

test('a request during the close is answered, with Connection: close', async () => {
  const api = await startApi()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const request = (): Promise<IncomingMessage> => getBy(agent, `${api.url}${SERVICES}`)
  expect((await request()).headers.connection).toBe('keep-alive')
  const closed = api.server.close()
  const answer = await request()
  expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close'])
  await closed
  await expect(request()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
