import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { POD, PODS, SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'
import { acceptsGzip } from './send.ts'

async function makePods(api: TestApi, count: number, padding: string): Promise<void> {
  for (let index = 0; index < count; index++) {
    await api.make(PODS, { metadata: { name: `p${index}`, annotations: { padding } }, spec: POD })
  }
}

test.each([
  ['gzip', true],
  ['gzip, deflate, br', true],
  ['br;q=1, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['br', false],
  ['identity', false],
  ['', false],
  [undefined, false],
])('Accept-Encoding %j: compressed is %j', (header, accepted) => {
  expect(acceptsGzip(header)).toBe(accepted)
})

test('a long list is compressed for a client that accepts gzip, with the same content', async () => {
  const api = await startApi()
  await makePods(api, 20, 'x'.repeat(10_000))
  const plain = await api.call('GET', PODS)
  expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding' })
  expect(plain.headers).not.toHaveProperty('content-encoding')
  const headers = { 'accept-encoding': 'gzip' }
  const packed = await fetch(`${api.url}${PODS}`, { headers })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  expect(packed.headers.get('vary')).toBe('Accept-Encoding')
  expect(await packed.text()).toBe(plain.text)
})

test('a compressed list adds fewer listeners to an emitter than Node takes for a leak', async () => {
  const warnings: Error[] = []
  const record = (warning: Error): void => void warnings.push(warning)
  const { defaultMaxListeners } = EventEmitter
  EventEmitter.defaultMaxListeners = defaultMaxListeners - 1
  process.on('warning', record)
  onTestFinished(() => {
    EventEmitter.defaultMaxListeners = defaultMaxListeners
    process.off('warning', record)
  })
  const api = await startApi()
  await makePods(api, 20, 'x'.repeat(10_000))
  await (await fetch(`${api.url}${PODS}`, { headers: { 'accept-encoding': 'gzip' } })).text()
  await new Promise(setImmediate)
  expect(warnings).toEqual([])
})

test('short answers and watches are not compressed', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const headers = { 'accept-encoding': 'gzip' }
  const list = await api.call('GET', SERVICES, { headers })
  expect(list.headers).not.toHaveProperty('content-encoding')
  expect(list.body['items']).toHaveLength(1)
  const watch = await api.watch(`${SERVICES}?watch=true`, headers)
  expect((await watch.next())?.type).toBe('ADDED')
  watch.close()
})

test('a client that does not read a compressed list for 60 s is disconnected', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const noise = Array.from({ length: 60_000 }, (_, index) => (index * 7919) % 9973).join('')
  await makePods(api, 100, noise.slice(0, 200_000))
  const socket = connect(api.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n`)
  await once(socket, 'readable')
  await api.call('GET', PODS)
  await clock.advance(60_000)
  socket.resume()
  if (!socket.closed) await once(socket, 'close')
  expect(socket.closed).toBe(true)
})

test('a compressed body is 415', async () => {
  const api = await startApi()
  const body = gzipSync(JSON.stringify(service('web')))
  const answer = await api.call('POST', SERVICES, { body, headers: { 'content-encoding': 'gzip' } })
  expect([answer.status, answer.body['message']]).toEqual([
    415,
    'Content-Encoding "gzip" is not supported: send the body uncompressed',
  ])
})
