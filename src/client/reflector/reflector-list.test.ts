import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { eventually } from '../testing/eventually.ts'
import { follow, listOf, openStream, queryOf } from '../testing/follow.ts'
import { modelObject, writeBookmark, writeLine } from '../testing/model-api.ts'
import type { Arrival } from '../testing/scripted-server.ts'
import { answerJson, answerStatus } from '../testing/scripted-server.ts'

test('the first request is a streaming list, whose stream continues as the watch', async () => {
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
  expect(server.arrivals.map(queryOf)).toEqual([
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

test.each([400, 403, 405, 422])(
  'a collection is listed in pages where a streaming list is answered with %i',
  async (code) => {
    const { server, recorder } = await follow({
      answer(arrival, index) {
        if (index === 0) return answerStatus(arrival.response, code, 'No')
        if (index === 3) return openStream(arrival)
        const last = arrival.url.searchParams.has('continue')
        const metadata = last
          ? { resourceVersion: '8' }
          : { resourceVersion: '7', continue: 'next' }
        const items = [modelObject(last ? 'a/2' : 'a/1', 1, 3)]
        return answerJson(arrival.response, 200, { kind: 'List', metadata, items })
      },
    })
    await server.arrival(4)
    expect(server.arrivals.slice(1).map(queryOf)).toEqual([
      { limit: '500' },
      { limit: '500', continue: 'next' },
      { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: '300', resourceVersion: '7' },
    ])
    expect([...recorder.known.keys()]).toEqual(['a/1', 'a/2'])
    expect(recorder.listings()).toBe(1)
  },
)

test('after a bookmark without initial-events-end the collection is listed in pages', async () => {
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
  expect(queryOf(server.arrivals[2]!)['resourceVersion']).toBe('9')
})

test.each([0, 1])(
  'a streaming list that pauses after %i objects is replaced by pages',
  async (objects) => {
    const clock = new FakeClock()
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
    await clock.advance(5_000)
    await recorder.until(() => recorder.listings() === 1)
    await server.arrival(3)
    expect([...recorder.known.keys()]).toEqual(['a/1', 'a/2'])
  },
)

test('a streaming list that never ends is replaced by pages after its time limit', async () => {
  const clock = new FakeClock()
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
      await clock.advance(4_000)
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(version).toBeLessThan(1_000_000)
  }
  expect(recorder.known.get('a/1')).toBe('a/1')
})
