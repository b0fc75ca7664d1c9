import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { createManualClock } from './testing/manual-clock.ts'
import { ModelApi, modelObject, writeBookmark, writeLine } from './testing/model-api.ts'
import type { Recorder, RecorderOptions } from './testing/recorder.ts'
import { startRecorder } from './testing/recorder.ts'
import type { Arrival, ScriptedServer } from './testing/scripted-server.ts'
import {
  answerJson,
  answerStatus,
  startScriptedServer,
  statusOf,
} from './testing/scripted-server.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

interface Follow extends Partial<RecorderOptions> {
  readonly answer: (arrival: Arrival, index: number) => void
}

/** Follows a server that answers its n-th request (from 0) as told. */
async function follow({
  answer,
  ...options
}: Follow): Promise<{ server: ScriptedServer; recorder: Recorder }> {
  let index = 0
  const server = await startScriptedServer((arrival) => answer(arrival, index++))
  const quick = { backoffBaseMs: 1, backoffMaxMs: 2 }
  const recorder = startRecorder({
    server: server.url,
    clock: systemClock,
    ...options,
    timing: { ...quick, ...options.timing },
  })
  cleanups.push(
    () => recorder.stop(),
    () => server.close(),
  )
  return { server, recorder }
}

function openStream({ response }: Arrival): void {
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
}

function listOf(version: string, ...keys: readonly string[]): unknown {
  const items = keys.map((key) => modelObject(key, key, Number(version)))
  return { kind: 'List', metadata: { resourceVersion: version }, items }
}

/** Lets the event loop turn until `condition` holds. */
async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}

const query = ({ url }: Arrival): Record<string, string> => Object.fromEntries(url.searchParams)

test('asks for a streaming list first, and goes on with the same stream', async () => {
  const { server, recorder } = await follow({
    resource: { query: { labelSelector: '!x' } },
    answer(arrival) {
      openStream(arrival)
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', 1, 5) })
      writeBookmark(arrival.response, 9, true)
      writeLine(arrival.response, { type: 'MODIFIED', object: modelObject('a/1', 2, 10) })
    },
  })
  await recorder.until(() => recorder.known.get('a/1') === 2)
  expect(server.arrivals.map(query)).toEqual([
    {
      labelSelector: '!x',
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    },
  ])
  expect(recorder.reflector.state()).toMatchObject({
    connected: true,
    disconnectedSince: undefined,
    lists: 1,
    restarts: 0,
    objects: 1,
    resourceVersion: '10',
    events: { added: 1, modified: 1, deleted: 0, bookmark: 1, error: 0 },
  })
})

test.each([400, 403, 405, 422])('lists in pages where streaming is answered %i', async (code) => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      if (index === 0) return answerStatus(arrival.response, code, 'No')
      if (index === 3) return openStream(arrival)
      const last = arrival.url.searchParams.has('continue')
      const metadata = last ? { resourceVersion: '8' } : { resourceVersion: '7', continue: 'next' }
      const items = [modelObject(last ? 'a/2' : 'a/1', 1, 3)]
      return answerJson(arrival.response, 200, { kind: 'List', metadata, items })
    },
  })
  await server.arrival(4)
  expect(server.arrivals.slice(1).map(query)).toEqual([
    { limit: '500' },
    { limit: '500', continue: 'next' },
    { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: '300', resourceVersion: '7' },
  ])
  expect([...recorder.known.keys()]).toEqual(['a/1', 'a/2'])
  expect(recorder.listings()).toBe(1)
})

test('a server that ignores the parameter betrays itself by an ordinary bookmark', async () => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      if (index === 1) return answerJson(arrival.response, 200, listOf('9', 'a/1'))
      openStream(arrival)
      if (index === 0) {
        writeLine(arrival.response, { type: 'ADDED', object: modelObject('gone/1', 1, 5) })
        writeBookmark(arrival.response, 9, false)
      }
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  await server.arrival(3)
  expect([...recorder.known.keys()]).toEqual(['a/1'])
  expect(query(server.arrivals[2]!)['resourceVersion']).toBe('9')
})

test.each([0, 1])('a server that ignores it falls silent (after %i objects)', async (objects) => {
  const clock = createManualClock()
  const { server, recorder } = await follow({
    clock,
    answer(arrival, index) {
      if (index === 1) return answerJson(arrival.response, 200, listOf('9', 'a/1', 'a/2'))
      openStream(arrival)
      if (objects === 0) return
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', 1, 5) })
    },
  })
  await eventually(() => recorder.reflector.state().connected)
  await recorder.until(() => recorder.known.size === objects)
  expect(recorder.listings()).toBe(0)
  clock.advance(5_000)
  await recorder.until(() => recorder.listings() === 1)
  await server.arrival(3)
  expect([...recorder.known.keys()]).toEqual(['a/1', 'a/2'])
})

test('a server that ignores the parameter is found out although it never falls silent', async () => {
  const clock = createManualClock()
  let chatter: Arrival | undefined
  const { recorder } = await follow({
    clock,
    answer(arrival, index) {
      if (index === 1) return answerJson(arrival.response, 200, listOf('9', 'a/1'))
      openStream(arrival)
      if (index === 0) chatter = arrival
    },
  })
  for (let version = 1; recorder.listings() === 0; version++) {
    if (chatter !== undefined) {
      writeLine(chatter.response, { type: 'ADDED', object: modelObject('a/1', version, version) })
      await recorder.until(() => recorder.known.get('a/1') === version || recorder.listings() > 0)
      clock.advance(4_000)
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(version).toBeLessThan(1_000_000)
  }
  expect(recorder.known.get('a/1')).toBe('a/1')
})

test('resumes after a torn line from the last version, and repeats nothing', async () => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      if (index === 1) return answerJson(response, 200, listOf('12'))
      openStream(arrival)
      if (index === 2) {
        return writeLine(response, { type: 'ADDED', object: modelObject('a/2', 2, 13) })
      }
      writeBookmark(response, 9, true)
      writeLine(response, { type: 'ADDED', object: modelObject('a/1', 1, 11) })
      const half = JSON.stringify({ type: 'ADDED', object: modelObject('a/2', 2, 13) })
      response.write(half.slice(0, 40), () => response.socket?.destroy())
    },
  })
  await recorder.until(() => recorder.known.has('a/2'))
  expect(server.arrivals.map(query)).toMatchObject([{}, { limit: '1' }, { resourceVersion: '11' }])
  expect(recorder.batches.flat().map(({ key }) => key)).toEqual(['a/1', 'a/2'])
  expect(recorder.reflector.state()).toMatchObject({ lists: 1, restarts: 0, watches: 2 })
})

test('resumes from a bookmark when nothing else happened', async () => {
  const clock = createManualClock()
  const { server, recorder } = await follow({
    clock,
    answer(arrival, index) {
      openStream(arrival)
      if (index > 0) return
      writeBookmark(arrival.response, 9, true)
      writeBookmark(arrival.response, 50, false)
    },
  })
  await eventually(() => recorder.reflector.state().resourceVersion === '50')
  clock.advance(300_000)
  server.arrivals[0]?.response.end()
  await server.arrival(2)
  expect(query(server.arrivals[1]!)['resourceVersion']).toBe('50')
  expect(recorder.listings()).toBe(1)
  expect(recorder.reflector.state().failures).toBe(0)
})

test.each(['event', 'answer'] as const)('a 410 as %s leads to a new list', async (kind) => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      if (index === 0) return answerStatus(response, 422, 'Invalid')
      if (index === 1) return answerJson(response, 200, listOf('9', 'a/1', 'a/2'))
      if (index === 3 && arrival.url.searchParams.has('watch'))
        return answerStatus(response, 422, '')
      if (index === 3) return answerJson(response, 200, listOf('20', 'a/2', 'a/3'))
      if (index === 2 && kind === 'answer') return answerStatus(response, 410, 'Expired')
      openStream(arrival)
      if (index === 2) writeLine(response, { type: 'ERROR', object: statusOf(410, 'Expired') })
    },
  })
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual(['a/2', 'a/3'])
  expect(recorder.batches.at(-1)).toEqual([{ key: 'a/1', value: undefined }])
  await server.arrival(5)
  expect(query(server.arrivals[4]!)['resourceVersion']).toBe('20')
  expect(recorder.reflector.state()).toMatchObject({ restarts: 1, failures: 1 })
  expect(recorder.reflector.state().lastFailure).toMatchObject({ code: 410, reason: 'Expired' })
})

test('a 410 between two pages leads to one list without pages', async () => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      if (index === 0) return answerStatus(response, 422, 'Invalid')
      if (index === 2) return answerStatus(response, 410, 'Expired')
      if (index === 3) return answerJson(response, 200, listOf('20', 'a/2'))
      if (index > 3) return openStream(arrival)
      const metadata = { resourceVersion: '7', continue: 'next' }
      const items = [modelObject('a/1', 1, 3)]
      return answerJson(response, 200, { kind: 'List', metadata, items })
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  expect(query(server.arrivals[3]!)).toEqual({})
  expect([...recorder.known.keys()]).toEqual(['a/2'])
})

test.each(['event', 'bookmark'] as const)('an %s from the past leads to a list', async (kind) => {
  const { recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      openStream(arrival)
      if (index > 0) return writeBookmark(response, 3, true)
      writeLine(response, { type: 'ADDED', object: modelObject('a/1', 1, 50) })
      writeBookmark(response, 90, true)
      if (kind === 'bookmark') return writeBookmark(response, 2, false)
      return writeLine(response, { type: 'ADDED', object: modelObject('a/2', 1, 2) })
    },
  })
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual([])
  expect(recorder.reflector.state()).toMatchObject({ resourceVersion: '3', restarts: 1 })
  expect(recorder.reflector.state().lastFailure?.errorCode).toBe('NP_CLIENT_REWOUND')
})

test('a server put back to an older state is noticed when the watch breaks', async () => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      if (index === 1) return answerJson(response, 200, listOf('40'))
      openStream(arrival)
      if (index === 2) {
        writeLine(response, { type: 'ADDED', object: modelObject('old/1', 1, 30) })
        return writeBookmark(response, 40, true)
      }
      writeLine(response, { type: 'ADDED', object: modelObject('new/1', 1, 50) })
      writeBookmark(response, 50, true)
      return response.end()
    },
  })
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual(['old/1'])
  expect(query(server.arrivals[1]!)).toEqual({ limit: '1' })
})

test('a DELETED with the version of the last state is no rewound server', async () => {
  const { recorder } = await follow({
    answer(arrival, index) {
      openStream(arrival)
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', 1, 5) })
      writeBookmark(arrival.response, 90, true)
      writeLine(arrival.response, { type: 'DELETED', object: modelObject('a/1', 1, 5) })
      if (index === 0)
        writeLine(arrival.response, { type: 'ADDED', object: modelObject('b', 1, 91) })
    },
  })
  await recorder.until(() => recorder.known.has('b'))
  expect([...recorder.known.keys()]).toEqual(['b'])
  expect(recorder.reflector.state()).toMatchObject({ lists: 1, resourceVersion: '91' })
})

test('an object that goes bad or is to be ignored is gone, and harms no other', async () => {
  const { recorder } = await follow({
    answer(arrival) {
      openStream(arrival)
      const put = (key: string, spec: unknown, version: number): void =>
        writeLine(arrival.response, { type: 'ADDED', object: modelObject(key, spec, version) })
      put('a/1', 1, 1)
      put('a/2', 2, 2)
      put('a/3', 3, 3)
      writeBookmark(arrival.response, 5, true)
      put('a/1', 'bad', 6)
      put('a/2', 'ignored', 7)
      put('a/4', 'bad', 8)
      writeLine(arrival.response, { type: 'ADDED', object: { metadata: {}, spec: 'bad' } })
      put('a/5', 5, 9)
    },
  })
  await recorder.until(() => recorder.known.has('a/5'))
  expect([...recorder.known.keys()]).toEqual(['a/3', 'a/5'])
  expect(recorder.invalid).toEqual(['a/1', 'a/4', ''])
  expect(recorder.lost).toEqual(['nameless'])
})

test('a line that is no event means that something was missed: list again', async () => {
  const { recorder } = await follow({
    answer(arrival, index) {
      const { response } = arrival
      if (index === 1) return answerStatus(response, 500, 'InternalError')
      if (index === 2) return answerJson(response, 200, listOf('9', 'a/2'))
      openStream(arrival)
      writeLine(response, { type: 'ADDED', object: modelObject('a/1', 1, 5) })
      writeBookmark(response, 9, true)
      if (index === 0) response.write('<html>\n')
    },
  })
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual(['a/2'])
  expect(recorder.lost).toEqual(['garbage'])
})

test('an event over 8 MiB is skipped in a streaming list, and makes a list later', async () => {
  const huge = `{"type":"ADDED","object":"${'x'.repeat(8 * 1024 * 1024)}"}\n`
  const { recorder } = await follow({
    answer(arrival, index) {
      openStream(arrival)
      arrival.response.write(huge)
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', index, 5) })
      writeBookmark(arrival.response, 9, true)
      if (index === 0) arrival.response.write(huge)
    },
  })
  await recorder.until(() => recorder.listings() === 2 && recorder.lost.length === 3)
  expect([...recorder.known]).toEqual([['a/1', 1]])
  expect(recorder.lost).toEqual(['oversized', 'oversized', 'oversized'])
})

test('a page item that is no JSON, or over 8 MiB, is lost alone', async () => {
  const { recorder } = await follow({
    answer(arrival, index) {
      if (index === 0) return answerStatus(arrival.response, 422, 'Invalid')
      if (index > 1) return openStream(arrival)
      const good = JSON.stringify(modelObject('a/1', 1, 1))
      const huge = `{"x":"${'x'.repeat(8 * 1024 * 1024)}"}`
      const metadata = '"metadata":{"resourceVersion":"3"}'
      arrival.response.end(`{"kind":"List","items":[{oops},${good},${huge}],${metadata}}`)
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  expect([...recorder.known.keys()]).toEqual(['a/1'])
  expect(recorder.lost).toEqual(['garbage', 'oversized'])
})

test('waits longer and longer between failures, and as long as the server asks', async () => {
  const clock = createManualClock()
  const delays: number[] = []
  const { server, recorder } = await follow({
    clock,
    timing: { backoffBaseMs: 200, backoffMaxMs: 1000 },
    answer({ response }, index) {
      if (index === 5) response.setHeader('retry-after', '7')
      answerStatus(response, index === 5 ? 429 : 503, 'Unavailable')
    },
  })
  for (let request = 1; request <= 6; request++) {
    await server.arrival(request)
    await eventually(() => recorder.reflector.state().failures >= request)
    await eventually(() => clock.pending().length > 0)
    const [delay = 0] = clock.pending()
    delays.push(delay)
    clock.advance(delay)
  }
  expect(delays).toEqual([100, 200, 400, 500, 500, 7000])
  expect(recorder.reflector.state()).toMatchObject({ connected: false, listedAt: undefined })
  expect(recorder.reflector.state().disconnectedSince).toBeTypeOf('number')
})

test('a connection that is dead without a word is dropped after its time', async () => {
  const clock = createManualClock()
  const { server, recorder } = await follow({
    clock,
    answer(arrival, index) {
      if (index === 1) return answerJson(arrival.response, 200, listOf('9'))
      openStream(arrival)
      if (index === 0) writeBookmark(arrival.response, 9, true)
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  clock.advance(329_000)
  expect(recorder.reflector.state().connected).toBe(true)
  clock.advance(1_000)
  await eventually(() => clock.pending().length > 0)
  clock.advance(200)
  const resumed = await server.arrival(3)
  expect(query(resumed)).toMatchObject({ watch: 'true', resourceVersion: '9' })
  expect(recorder.reflector.state().lastFailure).toMatchObject({ reason: 'Timeout' })
})

test('an outage changes nothing, shows, and heals with a list', async () => {
  const api = new ModelApi()
  api.put('a/1', 1)
  api.put('a/2', 2)
  const { server, recorder } = await follow({ answer: (arrival) => api.answer(arrival) })
  await recorder.until(() => recorder.listings() === 1)
  await server.close()
  await eventually(() => recorder.reflector.state().failures >= 3)
  expect(recorder.known.size).toBe(2)
  expect(recorder.reflector.state()).toMatchObject({
    connected: false,
    lastFailure: { errorCode: 'NP_CLIENT_UNREACHABLE' },
  })
  api.remove('a/1')
  const again = await startScriptedServer((arrival) => api.answer(arrival), { port: server.port })
  cleanups.push(() => again.close())
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual(['a/2'])
  expect(recorder.reflector.state().restarts).toBe(1)
})

test('ends where the server has no such resource, if told so', async () => {
  const { recorder } = await follow({
    resource: { endWhenMissing: true },
    answer: ({ response }) => answerStatus(response, 404, 'NotFound'),
  })
  expect(await recorder.done).toBe('gone')
})

test('else asks again', async () => {
  const { server, recorder } = await follow({
    answer(arrival, index) {
      if (index < 3) return answerStatus(arrival.response, 404, 'NotFound')
      openStream(arrival)
      writeBookmark(arrival.response, 9, true)
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  expect(server.arrivals.length).toBe(4)
})

test('where only one object may be read, it is fetched now and then', async () => {
  const clock = createManualClock()
  let exists = true
  const { server, recorder } = await follow({
    clock,
    resource: { single: '/things/n' },
    answer({ url, response }) {
      if (url.pathname === '/things') return answerStatus(response, 403, 'Forbidden')
      if (exists) return answerJson(response, 200, modelObject('n', 1, 5))
      return answerStatus(response, 404, 'NotFound')
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  expect([...recorder.known.keys()]).toEqual(['n'])
  exists = false
  await eventually(() => clock.pending().includes(60_000))
  clock.advance(60_000)
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual([])
  expect(server.arrivals.length).toBe(5)
})

test('a bug in a callback comes out', async () => {
  const { recorder } = await follow({
    answer(arrival) {
      openStream(arrival)
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', 'throw', 5) })
    },
  })
  await expect(recorder.done).rejects.toThrow('a bug')
  cleanups.shift()
})
