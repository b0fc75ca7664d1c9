import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { eventually } from '../testing/eventually.ts'
import { follow, listOf, openStream, queryOf } from '../testing/follow.ts'
import { modelObject, writeBookmark, writeLine } from '../testing/model-api.ts'
import { answerJson, answerStatus, statusOf } from '../testing/scripted-server.ts'

test('after an incomplete line the watch is resumed from the last version, and no change is repeated', async () => {
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
  expect(server.arrivals.map(queryOf)).toMatchObject([
    {},
    { limit: '1' },
    { resourceVersion: '11' },
  ])
  expect(recorder.batches.flat().map(({ key }) => key)).toEqual(['a/1', 'a/2'])
  expect(recorder.reflector.state()).toMatchObject({ lists: 1, restarts: 0, watches: 2 })
})

test('a watch that ended as planned is resumed from the last bookmark', async () => {
  const clock = new FakeClock()
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
  await clock.advance(300_000)
  server.arrivals[0]?.response.end()
  await server.arrival(2)
  expect(queryOf(server.arrivals[1]!)['resourceVersion']).toBe('50')
  expect(recorder.listings()).toBe(1)
  expect(recorder.reflector.state().failures).toBe(0)
})

test.each(['event', 'answer'] as const)(
  'a 410 as %s of a watch leads to a new list',
  async (kind) => {
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
    expect(queryOf(server.arrivals[4]!)['resourceVersion']).toBe('20')
    expect(recorder.reflector.state()).toMatchObject({ restarts: 1, failures: 1 })
    expect(recorder.reflector.state().lastFailure).toMatchObject({ code: 410, reason: 'Expired' })
  },
)

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
  expect(queryOf(server.arrivals[3]!)).toEqual({})
  expect([...recorder.known.keys()]).toEqual(['a/2'])
})

test.each(['event', 'bookmark'] as const)(
  'an older resourceVersion in an %s leads to a new list',
  async (kind) => {
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
  },
)

test('when a watch breaks and the server has an older resourceVersion, the collection is listed again', async () => {
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
  expect(queryOf(server.arrivals[1]!)).toEqual({ limit: '1' })
})

test('a DELETED with the version of the last state does not lead to a new list', async () => {
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
