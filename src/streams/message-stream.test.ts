import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import {
  closePayload,
  createMessageStream,
  OPCODE,
  WebSocketFrameReader,
  webSocketFrame,
} from './message-stream.ts'
import { acceptHandshake, acceptKey } from './websocket-handshake.ts'

const MASK = Buffer.from([1, 2, 3, 4])

function frame(opcode: number, text: string | Buffer = ''): Buffer {
  return webSocketFrame(opcode, Buffer.from(text), MASK)
}

/** Frames of a client, read by a server. */
function read(...frames: readonly Buffer[]) {
  const reader = new WebSocketFrameReader({ isMasked: true, maxMessageBytes: 1000 })
  return reader.read(Buffer.concat(frames))
}

function opened(bytes: Buffer, set: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes)
  set(copy)
  return copy
}

const notFinal = (bytes: Buffer) => opened(bytes, (copy) => (copy[0]! &= 0x7f))

test('the answer to the handshake of RFC 6455', () => {
  expect(acceptKey('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

test.each([
  [{}, 'Version must be 13'],
  [{ 'sec-websocket-version': '13' }, 'Sec-WebSocket-Key'],
  [{ 'sec-websocket-version': '13', 'sec-websocket-key': 'x' }, 'Sec-WebSocket-Key'],
  [
    { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
    'must offer one of a/b, c',
  ],
])('the handshake %j is refused', (headers, why) => {
  expect(acceptHandshake(headers, ['a/b', 'c'])).toContain(why)
})

test('the first sub-protocol of the server that the client offers is chosen, with its slash', () => {
  const headers = {
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-protocol': 'c, SPDY/3.1+portforward.k8s.io',
  }
  expect(acceptHandshake(headers, ['SPDY/3.1+portforward.k8s.io', 'c'])).toMatchObject({
    protocol: 'SPDY/3.1+portforward.k8s.io',
    headers: { 'Sec-WebSocket-Protocol': 'SPDY/3.1+portforward.k8s.io' },
  })
})

test('fragments are one message, with control frames between them', () => {
  const events = read(
    notFinal(frame(OPCODE.binary, 'a')),
    frame(OPCODE.ping, 'p'),
    notFinal(frame(OPCODE.continuation)),
    frame(OPCODE.continuation, 'b'),
  )
  expect(events).toEqual([
    { kind: 'ping', data: Buffer.from('p') },
    { kind: 'message', data: Buffer.from('ab') },
  ])
})

test.each([1, 125, 126, 127, 999])('a message of %d bytes, byte for byte', (length) => {
  const reader = new WebSocketFrameReader({ isMasked: true, maxMessageBytes: 1000 })
  const data = Buffer.alloc(length, 'x')
  const bytes = frame(OPCODE.binary, data)
  const events = [...bytes].flatMap((byte) => reader.read(Buffer.from([byte])))
  expect(events).toEqual([{ kind: 'message', data }])
})

test('a large message in small pieces, and one in small fragments', () => {
  const data = randomBytes(1 << 20)
  const reader = new WebSocketFrameReader({ isMasked: true, maxMessageBytes: data.length })
  const cut = (bytes: Buffer, size: number): readonly Buffer[] =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
  const last = frame(OPCODE.continuation)
  const fragments = cut(data, 256).map((part, at) =>
    notFinal(frame(at === 0 ? OPCODE.binary : OPCODE.continuation, part)),
  )
  for (const pieces of [cut(frame(OPCODE.binary, data), 16), [...fragments, last]]) {
    const events = pieces.flatMap((piece) => reader.read(piece))
    expect(events.map((event) => event.kind === 'message' && event.data.equals(data))).toEqual([
      true,
    ])
  }
})

test.each<[string, Buffer, number]>([
  ['a reserved bit', opened(frame(2, 'a'), (copy) => (copy[0]! |= 0x40)), 1002],
  ['an unknown kind', frame(3), 1002],
  ['no mask', webSocketFrame(OPCODE.binary, Buffer.from('a')), 1002],
  ['a fragment of nothing', frame(OPCODE.continuation, 'a'), 1002],
  ['a message in another', Buffer.concat([notFinal(frame(2, 'a')), frame(2, 'b')]), 1002],
  ['a fragmented ping', notFinal(frame(OPCODE.ping)), 1002],
  ['a long ping', frame(OPCODE.ping, 'x'.repeat(126)), 1002],
  ['a length in a longer form', Buffer.from([0x82, 0xfe, 0, 1, 0, 0, 0, 0, 1]), 1002],
  ['a length of 2^63', Buffer.from([0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), 1009],
  ['a message that is too large', frame(OPCODE.binary, 'x'.repeat(1001)), 1009],
  [
    'fragments that are too large',
    Buffer.concat([notFinal(frame(2, 'x'.repeat(900))), frame(0, 'x'.repeat(101))]),
    1009,
  ],
  ['a text that is no UTF-8', frame(OPCODE.text, Buffer.from([0xff])), 1007],
  ['a code of one byte', frame(OPCODE.close, 'x'), 1002],
  ['a code that may not be sent', frame(OPCODE.close, closePayload(1006)), 1002],
  ['a code that does not exist', frame(OPCODE.close, closePayload(2000)), 1002],
])('%s is a fault', (_, bytes, code) => {
  expect(read(bytes, frame(OPCODE.ping))).toMatchObject([{ kind: 'fault', code }])
})

/** Two ends of one WebSocket. */
function pair() {
  const [near, far] = duplexPair()
  const clock = new FakeClock()
  const client = createMessageStream(near, { role: 'client', clock })
  const server = createMessageStream(far, { role: 'server', clock })
  return { near, far, clock, client, server }
}

test('messages keep their bounds both ways, and the end is in good order', async () => {
  const { client, server } = pair()
  for (const one of ['a', 'b', 'x'.repeat(70_000)]) client.write(one)
  const got: string[] = []
  server.on('data', (message: Buffer) => got.push(message.toString()))
  server.write('answer')
  const [answer] = (await once(client, 'data')) as Buffer[]
  client.end()
  await once(server, 'end')
  expect([got.map(({ length }) => length), answer?.toString()]).toEqual([[1, 1, 70_000], 'answer'])
})

test('a consumer that takes nothing holds the sender back', async () => {
  const { client, server, far } = pair()
  let written = 0
  const write = (): void => {
    while (written < 1000 && client.write(Buffer.alloc(10_000))) written++
  }
  client.on('drain', write)
  write()
  await new Promise((resolve) => setImmediate(resolve))
  expect(written).toBeLessThan(200)
  expect(far.readableLength).toBeLessThan(1 << 20)
  server.resume()
  await expect.poll(() => written).toBe(1000)
})

test('a ping is answered, and a fault is reported to the peer and fails the stream', async () => {
  const [near, far] = duplexPair()
  const server = createMessageStream(far, { role: 'server', clock: new FakeClock() })
  const reader = new WebSocketFrameReader({ isMasked: false, maxMessageBytes: 1000 })
  const seen: unknown[] = []
  near.on('data', (chunk: Buffer) => seen.push(...reader.read(chunk)))
  near.write(frame(OPCODE.ping, 'p'))
  near.write(frame(3))
  const [error] = (await once(server.resume(), 'error')) as unknown[]
  expect(error).toMatchObject({ code: 'NP_STREAMS_WEBSOCKET' })
  await expect.poll(() => seen).toMatchObject([{ kind: 'pong' }, { kind: 'close', code: 1002 }])
})

test('a peer that breaks off fails the stream; one that says no goodbye is cut off', async () => {
  const broken = pair()
  broken.near.destroy()
  broken.far.push(null)
  expect(await once(broken.server.resume(), 'error')).toMatchObject([
    { code: 'NP_STREAMS_WEBSOCKET' },
  ])
  const [near, far] = duplexPair()
  const clock = new FakeClock()
  const server = createMessageStream(far, { role: 'server', clock })
  near.resume()
  server.end()
  const closed = once(far, 'close')
  await clock.advance(2_000)
  await closed
})

test('mutated frames are events or one fault, without an exception', () => {
  const good = Buffer.concat([
    frame(OPCODE.binary, 'x'.repeat(200)),
    notFinal(frame(OPCODE.text, 'abc')),
    frame(OPCODE.ping, 'p'),
    frame(OPCODE.continuation, 'def'),
    frame(OPCODE.close, closePayload(1000, 'bye')),
  ])
  const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), fc.nat(60), (changes, cut) => {
      const bad = Buffer.from(good)
      for (const [at, value] of changes) bad[at] = value
      const reader = new WebSocketFrameReader({ isMasked: true, maxMessageBytes: 1000 })
      const events = []
      for (let at = 0; at < bad.length; at += cut + 1) {
        events.push(...reader.read(bad.subarray(at, at + cut + 1)))
      }
      const ends = events.filter(({ kind }) => kind === 'fault' || kind === 'close')
      return ends.length <= 1 && (ends.length === 0 || events.at(-1) === ends[0])
    }),
    { numRuns: 3000 },
  )
})
