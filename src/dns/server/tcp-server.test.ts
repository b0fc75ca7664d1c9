import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { decode } from 'dns-packet'
import { afterEach, expect, test } from 'vitest'
import type { ForwardedAnswer } from '../forward/forwarder.ts'
import { openScene, type Scene } from '../testing/dns-scene.ts'
import { question } from '../testing/query-server.ts'
import { framed, MessageFramer } from './tcp-server.ts'

let scene: Scene
afterEach(() => scene.close())

const FOUND: ForwardedAnswer = {
  source: 'upstream',
  rcode: 0,
  isAuthentic: false,
  answers: [{ name: 'www.example.com', type: 'A', class: 'IN', ttl: 77, data: '192.0.2.1' }],
  authorities: [],
}

test('a client that ends its half of a connection still gets every answer, and then the end', async () => {
  const forwarded = Promise.withResolvers<ForwardedAnswer>()
  scene = await openScene({ forwarder: { query: () => forwarded.promise } })
  const socket = connect(scene.port, '127.0.0.1')
  const framer = new MessageFramer()
  const answers: Buffer[] = []
  socket.on('data', (bytes: Buffer) => answers.push(...framer.push(bytes)))
  const ended = once(socket, 'close')
  const [here, elsewhere] = [
    question('A', 'web.shop.svc.cluster.local', { id: 1 }),
    question('A', 'www.example.com', { id: 2 }),
  ]
  socket.end(Buffer.concat([framed(here), framed(elsewhere)]))
  await once(socket, 'data')
  forwarded.resolve(FOUND)
  await ended
  expect(answers.map((answer) => decode(answer).id)).toEqual([1, 2])
})

test('a client that ends its half in the middle of a question gets the end', async () => {
  scene = await openScene({})
  const socket = connect(scene.port, '127.0.0.1')
  socket.end(framed(question('A', 'web.shop.svc.cluster.local')).subarray(0, 9))
  expect(await text(socket)).toBe('')
})
