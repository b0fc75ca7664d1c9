import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditSink } from '../apiserver/audit/sinks/buffered-sink.ts'
import { webhookSink } from '../apiserver/audit/sinks/webhook-sink.ts'
import { type Observed, sinkContext, sum } from '../apiserver/audit/testing/sink-context.ts'
import { loadKubeconfig } from '../client/connection/kubeconfig.ts'
import { type Arrival, answerJson, startScriptedServer } from '../client/testing/scripted-server.ts'
import { base64, certificates } from '../client/testing/test-certificates.ts'
import { systemClock } from '../lib/clock.ts'
import type { JsonObject } from '../lib/json.ts'
import { type AuditOutputs, createEventsPoster, openAuditSinks } from './open-audit.ts'
import { newFolder } from './testing/new-folder.ts'

const NOWHERE: AuditOutputs = {
  logPath: '',
  logMaxMegabytes: 1,
  logMaxBackups: 0,
  logMaxAgeDays: 0,
  webhookConfigFile: '',
}
const PROCESS = { stdout: new Writable({ write: () => undefined }), userAgent: 'orch-server/1' }

async function bodyOf({ request }: Arrival): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

interface Receiver {
  readonly url: string
  readonly bodies: readonly string[]
  readonly paths: readonly string[]
  readonly authorizations: readonly (string | undefined)[]
}

/** A server that answers the n-th request (from 0) as `answer` does. */
async function receiver(answer: (arrival: Arrival, n: number) => void): Promise<Receiver> {
  const bodies: string[] = []
  const paths: string[] = []
  const authorizations: (string | undefined)[] = []
  const server = await startScriptedServer(
    async (arrival) => {
      const body = await bodyOf(arrival).catch(() => undefined)
      if (body === undefined) return
      bodies.push(body)
      paths.push(`${arrival.method} ${arrival.url.pathname}`)
      authorizations.push(arrival.headers.authorization)
      answer(arrival, bodies.length - 1)
    },
    { tls: certificates.server },
  )
  onTestFinished(() => server.close())
  return { url: server.url, bodies, paths, authorizations }
}

function kubeconfig(server: string): string {
  const path = join(newFolder(), 'webhook.yaml')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server, 'certificate-authority-data': base64(certificates.ca) } },
    ],
    users: [{ name: 'u', user: { token: 'tok-en' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** The sink of a webhook that gathers and retries at once, and waits 300 ms for an answer. */
/** Its pauses are short. That for an answer is half a minute, however slow the machine is; closing has 20 ms. */
async function quickSink(
  server: string,
  { queuedEvents = 100, timeoutMs = 3_000_000 } = {},
): Promise<Observed & { sink: AuditSink }> {
  const clock = { ...systemClock, after: quickly }
  const context = sinkContext(clock)
  const path = kubeconfig(server)
  const connection = await loadKubeconfig({ path, master: undefined, clock: systemClock })
  const { post, close } = createEventsPoster(connection, 'orch-server/1', systemClock)
  onTestFinished(close)
  return { ...context, sink: webhookSink(context, post, { queuedEvents, timeoutMs }) }
}

/** A hundred times faster than it should be. */
function quickly(ms: number, task: () => void): () => void {
  return systemClock.after(ms / 100, task)
}

function eventsOf(body: string): readonly unknown[] {
  return (JSON.parse(body) as JsonObject)['items'] as unknown[]
}

test('events arrive as an EventList, at the path and with the credentials of the kubeconfig', async () => {
  const server = await receiver(({ response }) => answerJson(response, 200, {}))
  const context = sinkContext(systemClock)
  const webhookConfigFile = kubeconfig(`${server.url}/audit/events`)
  const [sink] = await openAuditSinks({ ...NOWHERE, webhookConfigFile }, context, PROCESS)
  for (let serial = 0; serial < 500; serial++) sink!.write(JSON.stringify({ serial }))
  await sink!.close()
  expect(JSON.parse(server.bodies[0]!)).toMatchObject({
    kind: 'EventList',
    apiVersion: 'audit.k8s.io/v1',
    metadata: {},
  })
  expect(server.bodies.map((body) => eventsOf(body).length)).toEqual([400, 100])
  expect(server.bodies.flatMap(eventsOf)).toEqual(
    Array.from({ length: 500 }, (_, serial) => ({ serial })),
  )
  expect(server.paths[0]).toBe('POST /audit/events')
  expect(server.authorizations).toEqual(['Bearer tok-en', 'Bearer tok-en'])
  expect(context.dropped).toEqual([])
})

test.each([500, 503, 429, 401, 404])('after %s the same events are sent again', async (code) => {
  const server = await receiver(({ response }, n) => answerJson(response, n < 2 ? code : 200, {}))
  const { sink, dropped, failed } = await quickSink(server.url)
  sink.write('{"a":1}')
  await expect.poll(() => server.bodies.length).toBe(3)
  expect(new Set(server.bodies).size).toBe(1)
  expect(server.paths[0]).toBe('POST /')
  sink.write('{"a":2}')
  // The answer for the first one has arrived.
  await expect.poll(() => server.bodies.length).toBe(4)
  expect([dropped, failed]).toEqual([[], ['webhook', 'webhook']])
  await sink.close()
})

test.each([400, 413, 302])('after %s they are dropped, and the next ones sent', async (code) => {
  const server = await receiver(({ response }, n) => {
    response.setHeader('location', 'https://127.0.0.1:1/')
    answerJson(response, n === 0 ? code : 200, {})
  })
  const { sink, dropped } = await quickSink(server.url)
  sink.write('{"a":1}')
  await expect.poll(() => dropped).toEqual([1])
  sink.write('{"a":2}')
  await expect.poll(() => server.bodies.length).toBe(2)
  await sink.close()
  expect(eventsOf(server.bodies[1]!)).toEqual([{ a: 2 }])
})

test('a server that breaks connections, then answers', async () => {
  const server = await receiver(({ request, response }, n) => {
    if (n < 2) request.socket.destroy()
    else answerJson(response, 200, {})
  })
  const { sink, dropped } = await quickSink(server.url)
  sink.write('{"a":1}')
  await expect.poll(() => server.bodies.length).toBe(3)
  sink.write('{"a":2}')
  await expect.poll(() => server.bodies.length).toBe(4)
  expect(dropped).toEqual([])
  await sink.close()
})

test('a server that never answers: requests go on, the rest is dropped, and closing ends', async () => {
  const server = await receiver(() => undefined)
  const { sink, dropped, failed } = await quickSink(server.url, {
    queuedEvents: 50,
    timeoutMs: 30_000,
  })
  for (let serial = 0; serial < 1000; serial++) sink.write('{}')
  expect(sum(dropped)).toBe(950)
  await expect.poll(() => failed.length).toBeGreaterThan(0)
  await sink.close()
  expect(sum(dropped)).toBe(1000)
})

test('a server that answers half and hangs has taken the events', async () => {
  const server = await receiver(({ response }) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('x')
  })
  const { sink, dropped, failed } = await quickSink(server.url, { timeoutMs: 30_000 })
  sink.write('{"a":1}')
  await expect.poll(() => server.bodies.length).toBe(1)
  sink.write('{"a":2}')
  await expect.poll(() => server.bodies.length).toBe(2)
  expect(server.bodies.flatMap(eventsOf)).toEqual([{ a: 1 }, { a: 2 }])
  expect([dropped, failed]).toEqual([[], []])
  await sink.close()
})

test('a server that is not there: its address is logged, no token and no event', async () => {
  const { sink, dropped, logged } = await quickSink('https://127.0.0.1:1')
  sink.write('{"event":"secret"}')
  await expect.poll(() => dropped).toEqual([1])
  await sink.close()
  const [first] = logged
  expect(String(first?.fields['err'])).toContain('127.0.0.1:1')
  expect(`${JSON.stringify(logged)} ${String(first?.fields['err'])}`).not.toMatch(/tok-en|secret/)
})

test('a file and standard output are outputs, and nothing is the default', async () => {
  const context = sinkContext(systemClock)
  expect(await openAuditSinks(NOWHERE, context, PROCESS)).toEqual([])
  const logPath = join(newFolder(), 'audit.log')
  const [file] = await openAuditSinks({ ...NOWHERE, logPath }, context, PROCESS)
  file!.write('{}')
  await file!.close()
  expect(readFileSync(logPath, 'utf8')).toBe('{}\n')
  const chunks: string[] = []
  const write = (chunk: unknown, _encoding: unknown, done: () => void): void => {
    chunks.push(String(chunk))
    done()
  }
  const stdout = new Writable({ write })
  const out = await openAuditSinks({ ...NOWHERE, logPath: '-' }, context, { ...PROCESS, stdout })
  out[0]!.write('{}')
  await out[0]!.close()
  expect(chunks).toEqual(['{}\n'])
})

test('a kubeconfig that cannot be used is refused at the start', async () => {
  const webhookConfigFile = join(newFolder(), 'missing')
  await expect(
    openAuditSinks({ ...NOWHERE, webhookConfigFile }, sinkContext(systemClock), PROCESS),
  ).rejects.toMatchObject({ code: 'NP_CLIENT_KUBECONFIG' })
})
