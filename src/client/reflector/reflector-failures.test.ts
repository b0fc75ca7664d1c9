import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { eventually } from '../testing/eventually.ts'
import { follow, listOf, openStream, queryOf } from '../testing/follow.ts'
import { ModelApi, modelObject, writeBookmark, writeLine } from '../testing/model-api.ts'
import { answerJson, answerStatus, startScriptedServer } from '../testing/scripted-server.ts'
import { DEFAULT_TIMING } from './reflector-context.ts'

test('an object that becomes invalid or ignored counts as deleted, and others are not affected', async () => {
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
  expect(recorder.reflector.state()).toMatchObject({ objects: 2, rejected: 2 })
})

test('a watch line that is no event leads to a list', async () => {
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

test('an event over 8 MiB is skipped in a streaming list, and leads to a list after it', async () => {
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

test('only the page item that is no JSON, or over 8 MiB, is dropped', async () => {
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

test('the delays between failures grow, and are at least Retry-After', async () => {
  const clock = new FakeClock()
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
    await clock.advance(delay)
  }
  expect(delays).toEqual([100, 200, 400, 500, 500, 7000])
  expect(recorder.reflector.state()).toMatchObject({ connected: false, listedAt: undefined })
  expect(recorder.reflector.state().disconnectedSince).toBeTypeOf('number')
})

test('the delays at a server that is away stay below three seconds, however long it is', async () => {
  const clock = new FakeClock()
  const random = { below: (bound: number) => bound - 1 }
  const { server, recorder } = await follow({
    clock,
    random,
    timing: DEFAULT_TIMING,
    answer: ({ request }) => request.socket.destroy(),
  })
  await server.close()
  const delays: number[] = []
  for (let request = 1; request <= 8; request++) {
    await eventually(() => recorder.reflector.state().failures >= request)
    await eventually(() => clock.pending().length > 0)
    const [delay = 0] = clock.pending()
    delays.push(delay)
    await clock.advance(delay)
  }
  expect(delays).toEqual([200, 400, 800, 1600, 2500, 2500, 2500, 2500])
})

test('a watch that gets no events and no end is closed after its lifetime', async () => {
  const clock = new FakeClock()
  const { server, recorder } = await follow({
    clock,
    answer(arrival, index) {
      if (index === 1) return answerJson(arrival.response, 200, listOf('9'))
      openStream(arrival)
      if (index === 0) writeBookmark(arrival.response, 9, true)
    },
  })
  await recorder.until(() => recorder.listings() === 1)
  await clock.advance(329_000)
  expect(recorder.reflector.state().connected).toBe(true)
  await clock.advance(1_000)
  await eventually(() => clock.pending().length > 0)
  await clock.advance(200)
  const resumed = await server.arrival(3)
  expect(queryOf(resumed)).toMatchObject({ watch: 'true', resourceVersion: '9' })
  expect(recorder.reflector.state().lastFailure).toMatchObject({ reason: 'Timeout' })
})

test('an outage keeps the copy, is in the state, and ends with a list', async () => {
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
  onTestFinished(() => again.close())
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual(['a/2'])
  expect(recorder.reflector.state().restarts).toBe(1)
})

test('with `endWhenMissing` the reflector ends when the server has no such resource', async () => {
  const { recorder } = await follow({
    resource: { endWhenMissing: true },
    answer: ({ response }) => answerStatus(response, 404, 'NotFound'),
  })
  expect(await recorder.done).toBe('gone')
})

test('without `endWhenMissing` the list is repeated', async () => {
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

test('when only a single object may be read, it is fetched every `pollMs`', async () => {
  const clock = new FakeClock()
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
  await clock.advance(60_000)
  await recorder.until(() => recorder.listings() === 2)
  expect([...recorder.known.keys()]).toEqual([])
  expect(server.arrivals.length).toBe(5)
})

test('run rejects with the error of a callback', async () => {
  const { recorder } = await follow({
    answer(arrival) {
      openStream(arrival)
      writeLine(arrival.response, { type: 'ADDED', object: modelObject('a/1', 'throw', 5) })
    },
  })
  await expect(recorder.done).rejects.toThrow('a bug')
})
