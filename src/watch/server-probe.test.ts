import { expect, onTestFinished, test } from 'vitest'
import { connectionTo } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import type { ApiOperation } from '../client/http/api-failures.ts'
import type { ApiFailure } from '../client/http/failure.ts'
import { createProgress, type ReflectorState } from '../client/reflector/reflector-state.ts'
import { eventually } from '../client/testing/eventually.ts'
import { type Arrival, startScriptedServer } from '../client/testing/scripted-server.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { probeServer } from './server-probe.ts'

async function setUp(answer: (arrival: Arrival) => void, state: Partial<ReflectorState> = {}) {
  const server = await startScriptedServer((arrival) => answer(arrival))
  const clock = new FakeClock()
  /** By how much the machine's clock was set, in milliseconds. */
  const step = { ms: 0 }
  const machineClock = {
    now: () => clock.now() + step.ms,
    after: (ms: number, task: () => void) => clock.after(ms, task),
  }
  const client = createApiClient({ connection: connectionTo(server.url), clock, userAgent: 'test' })
  const outcomes: string[] = []
  const reporter = {
    failed: ({ verb, resource }: ApiOperation, { message }: ApiFailure) =>
      void outcomes.push(`${verb} ${resource}: ${message.replace(server.url, 'the server')}`),
    succeeded: (resource: string) => void outcomes.push(`${resource} ok`),
  }
  const watched = { ...createProgress('/things', 0), connected: true, ...state }
  const stop = new AbortController()
  const states = () => [watched]
  const running = probeServer({ client, clock: machineClock, reporter, states }, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await client.close()
    await server.close()
  })
  return { clock, outcomes, server, step, watched }
}

const SILENT = 'get version: no answer from the server within 8 s'

test('a server that hangs behind an open watch is reported after 28 s, and again when it answers', async () => {
  let hangs = true
  const { clock, outcomes, server } = await setUp(({ response }) => {
    if (!hangs) response.writeHead(403).end()
  })
  await clock.advance(20_000)
  await server.arrival(1)
  await clock.advance(8_000)
  await eventually(() => outcomes.length === 1)
  hangs = false
  await eventually(() => clock.pending().length > 0)
  await clock.advance(12_000)
  await eventually(() => outcomes.length === 2)
  expect(outcomes).toEqual([SILENT, 'version ok'])
  expect(server.arrivals[0]?.url.pathname).toBe('/version')
})

test('no probe is sent while a watch delivers events', async () => {
  const { clock, server, watched } = await setUp(() => undefined)
  for (let second = 0; second < 60; second += 10) {
    watched.lastEventAt = clock.now()
    await clock.advance(10_000)
  }
  expect(server.arrivals).toEqual([])
})

test('no probe is sent while no watch is open', async () => {
  const { clock, server } = await setUp(() => undefined, { connected: false })
  await clock.advance(60_000)
  expect(server.arrivals).toEqual([])
})

test('a clock that is set back delays no probe for longer than the silence', async () => {
  const { clock, server, step, watched } = await setUp(() => undefined)
  await clock.advance(10_000)
  watched.lastEventAt = clock.now()
  step.ms = -3_600_000
  await clock.advance(30_000)
  expect((await server.arrival(1)).url.pathname).toBe('/version')
})
