import { once } from 'node:events'
import { type Duplex, duplexPair } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { constants, createDeflate, type Deflate } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SpdyFrame, SpdyFrameReader, SpdyFrameWriter } from './frame.ts'
import { HEADER_DICTIONARY, HeaderBlockReader, ZLIB_HEADER } from './header-block.ts'
import { createSpdySession, type SpdySession } from './spdy-session.ts'
import type { SpdyStream } from './spdy-stream.ts'

const NAMED = new Map([['streamtype', 'data']])

/** Two sessions, one at each end of a connection. */
function pair(onStream: (stream: SpdyStream) => void = (stream) => stream.accept()) {
  const [near, far] = duplexPair()
  const server = createSpdySession(far, { role: 'server', onStream })
  const client = createSpdySession(near, { role: 'client' })
  return { client, server, near, far }
}

/** A client that is played by hand, as client-go is: it knows nothing of windows. */
function byHand(session: (channel: Duplex) => SpdySession) {
  const [near, far] = duplexPair()
  const [writer, reader] = [new SpdyFrameWriter(), new SpdyFrameReader()]
  const frames: SpdyFrame[] = []
  near.on('data', (chunk: Buffer) => frames.push(...reader.read(chunk)))
  near.on('error', () => undefined)
  const server = session(far)
  return { near, far, server, frames, send: (frame: SpdyFrame) => near.write(writer.write(frame)) }
}

function synStream(streamId: number): SpdyFrame {
  return { type: 'syn-stream', streamId, isLast: false, headers: NAMED }
}

/** `plain` as a stream compresses it after what it compressed before. */
async function flushed(deflate: Deflate, plain: Buffer): Promise<Buffer> {
  const parts: Buffer[] = []
  deflate.on('data', (part: Buffer) => parts.push(part))
  deflate.write(plain)
  await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve))
  deflate.removeAllListeners('data')
  return Buffer.concat(parts)
}

test('the dictionary is the one whose checksum zlib streams name', async () => {
  const deflate = createDeflate({ dictionary: HEADER_DICTIONARY })
  deflate.end('x')
  expect((await buffer(deflate)).subarray(0, 6)).toEqual(ZLIB_HEADER)
})

test('header blocks are read as zlib compresses them, each with the ones before it', async () => {
  const deflate = createDeflate({ dictionary: HEADER_DICTIONARY })
  const reader = new HeaderBlockReader()
  for (const value of ['data', 'data', 'x'.repeat(40_000), 'data']) {
    const name = Buffer.from('StreamType')
    const sizes = [1, name.length, value.length].map((size) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(size)
      return bytes
    })
    const plain = [sizes[0]!, sizes[1]!, name, sizes[2]!, Buffer.from(value)]
    const block = await flushed(deflate, Buffer.concat(plain))
    expect([...reader.read(block)]).toEqual([['streamtype', value]])
  }
})

test('a block that unpacks to more than 64 KiB is refused', async () => {
  const deflate = createDeflate({ dictionary: HEADER_DICTIONARY })
  const block = await flushed(deflate, Buffer.alloc(1 << 20))
  expect(() => new HeaderBlockReader().read(block)).toThrow('too large')
})

test('streams carry bytes both ways beside each other, with an end of each direction', async () => {
  const { client, server } = pair((stream) => {
    stream.accept()
    stream.bytes.pipe(stream.bytes)
  })
  const sent = Array.from({ length: 20 }, (_, index) => Buffer.alloc(1_000_000, index))
  const echoes = sent.map(async (bytes) => {
    const stream = client.open(NAMED)
    await stream.accepted
    stream.bytes.end(bytes)
    return buffer(stream.bytes)
  })
  expect((await Promise.all(echoes)).every((echo, index) => echo.equals(sent[index]!))).toBe(true)
  client.close()
  expect(await Promise.all([client.closed, server.closed])).toEqual([undefined, undefined])
})

test('headers arrive in lower case', async () => {
  const opened = Promise.withResolvers<SpdyStream>()
  const { client } = pair(opened.resolve)
  client.open(new Map([['port', '80']]))
  client.open(NAMED)
  expect([...(await opened.promise).headers]).toEqual([['port', '80']])
})

test('a consumer that takes nothing holds back its own stream and no other', async () => {
  const streams: SpdyStream[] = []
  const { client, far } = pair((stream) => {
    stream.accept()
    streams.push(stream)
  })
  const [slow, other] = [client.open(NAMED), client.open(NAMED)]
  await Promise.all([slow.accepted, other.accepted])
  slow.bytes.write(Buffer.alloc(4 << 20))
  other.bytes.end('through')
  expect(await text(streams[1]!.bytes)).toBe('through')
  expect(streams[0]!.bytes.readableLength).toBeLessThanOrEqual(256 << 10)
  expect(far.readableLength).toBeLessThan(1 << 20)
  slow.bytes.end()
  expect((await buffer(streams[0]!.bytes)).length).toBe(4 << 20)
})

test('a peer that knows no windows gets more than a window, and is held back by the connection', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => {
    stream.accept()
    streams.push(stream)
  }
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send(synStream(1))
  hand.send({ type: 'data', streamId: 1, isLast: false, data: Buffer.alloc(3 << 20) })
  hand.send({ type: 'data', streamId: 1, isLast: true, data: Buffer.alloc(3 << 20) })
  await expect.poll(() => hand.far.isPaused()).toBe(true)
  const bytes = streams[0]!.bytes
  let length = 0
  bytes.on('data', (chunk: Buffer) => (length += chunk.length))
  await once(bytes, 'end')
  expect(length).toBe(6 << 20)
  bytes.end(Buffer.alloc(1 << 20))
  const got = () =>
    hand.frames.reduce((sum, frame) => sum + (frame.type === 'data' ? frame.data.length : 0), 0)
  await expect.poll(got).toBe(1 << 20)
  expect(new Set(hand.frames.map(({ type }) => type))).toEqual(new Set(['syn-reply', 'data']))
})

test('a consumer that leaves a full stream whose ends are sent holds back nothing any more', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => {
    stream.accept()
    stream.bytes.end()
    streams.push(stream)
  }
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send(synStream(1))
  await expect.poll(() => hand.frames.some((frame) => 'isLast' in frame && frame.isLast)).toBe(true)
  hand.send({ type: 'data', streamId: 1, isLast: true, data: Buffer.alloc(1 << 20) })
  await expect.poll(() => hand.far.isPaused()).toBe(true)
  streams[0]!.bytes.destroy()
  hand.send({ type: 'ping', id: 7 })
  await expect.poll(() => hand.frames.at(-1)).toEqual({ type: 'ping', id: 7 })
})

test('a reset ends a stream at the other end, and destroying one resets it', async () => {
  const streams: SpdyStream[] = []
  const { client } = pair((stream) => {
    stream.accept()
    streams.push(stream)
  })
  const stream = client.open(NAMED)
  await stream.accepted
  const failed = once(streams[0]!.bytes, 'error')
  stream.bytes.destroy()
  expect(await failed).toMatchObject([{ code: 'NP_STREAMS_RESET' }])
})

test('what arrived before a reset can still be read; then the stream fails', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => void streams.push(stream)
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send(synStream(1))
  hand.send({ type: 'data', streamId: 1, isLast: false, data: Buffer.from('the whole answer') })
  hand.send({ type: 'reset', streamId: 1, status: 5 })
  hand.send({ type: 'ping', id: 7 })
  await expect.poll(() => hand.frames).toEqual([{ type: 'ping', id: 7 }])
  const bytes = streams[0]!.bytes
  const failed = once(bytes, 'error')
  expect(await text(bytes)).toBe('the whole answer')
  expect(await failed).toMatchObject([{ code: 'NP_STREAMS_RESET' }])
})

test('a peer that renews a window without settings learns the window of streams, too', async () => {
  const hand = byHand((far) => createSpdySession(far, { role: 'server' }))
  for (let count = 0; count < 2; count++) {
    hand.send({ type: 'window-update', streamId: 0, delta: 1000 })
  }
  hand.send({ type: 'ping', id: 7 })
  await expect
    .poll(() => hand.frames)
    .toEqual([
      { type: 'settings', values: new Map([[7, 256 << 10]]) },
      { type: 'ping', id: 7 },
    ])
})

test('nothing more is sent on a stream that the peer has reset', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => void streams.push(stream)
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send(synStream(1))
  hand.send({ type: 'data', streamId: 1, isLast: false, data: Buffer.from('unread') })
  hand.send({ type: 'reset', streamId: 1, status: 5 })
  await expect.poll(() => streams.length).toBe(1)
  await new Promise<void>((resolve) => streams[0]!.bytes.end(resolve))
  hand.send({ type: 'ping', id: 7 })
  await expect.poll(() => hand.frames).toEqual([{ type: 'ping', id: 7 }])
})

test('a write that waits for a window fails with the reset of the peer', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => void streams.push(stream)
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send({ type: 'settings', values: new Map([[7, 0]]) })
  hand.send(synStream(1))
  await expect.poll(() => streams.length).toBe(1)
  const failed = once(streams[0]!.bytes, 'error')
  streams[0]!.bytes.write('x')
  hand.send({ type: 'reset', streamId: 1, status: 5 })
  expect(await failed).toMatchObject([{ code: 'NP_STREAMS_RESET' }])
})

test('a stream that was reset counts until what arrived on it is read', async () => {
  const streams: SpdyStream[] = []
  const onStream = (stream: SpdyStream) => void streams.push(stream)
  const options = { role: 'server', maxStreams: 1, onStream } as const
  const hand = byHand((far) => createSpdySession(far, options))
  hand.send(synStream(1))
  hand.send({ type: 'data', streamId: 1, isLast: false, data: Buffer.from('unread') })
  hand.send({ type: 'reset', streamId: 1, status: 5 })
  hand.send(synStream(3))
  await expect.poll(() => hand.frames).toMatchObject([{ type: 'reset', streamId: 3, status: 3 }])
  await new Promise((resolve) => streams[0]!.bytes.once('close', resolve).resume())
  hand.send(synStream(5))
  await expect.poll(() => streams.map(({ id }) => id)).toEqual([1, 5])
})

test('pings of the peer are answered, its own answers are not', async () => {
  const hand = byHand((far) => createSpdySession(far, { role: 'server' }))
  hand.send({ type: 'ping', id: 2 })
  hand.send({ type: 'ping', id: 7 })
  await expect.poll(() => hand.frames).toEqual([{ type: 'ping', id: 7 }])
})

test('more streams than permitted are refused, and the others go on', async () => {
  const options = { role: 'server', maxStreams: 1, onStream: (one: SpdyStream) => one.accept() }
  const hand = byHand((far) => createSpdySession(far, options as { readonly role: 'server' }))
  hand.send(synStream(1))
  hand.send(synStream(3))
  await expect
    .poll(() => hand.frames)
    .toMatchObject([
      { type: 'syn-reply', streamId: 1 },
      { type: 'reset', streamId: 3, status: 3 },
    ])
})

test.each<[string, SpdyFrame]>([
  ['an id of ours', synStream(2)],
  ['an old id', synStream(1)],
  ['data of no stream', { type: 'data', streamId: 99, isLast: false, data: Buffer.from('x') }],
])('%s ends the session with an error', async (_, frame) => {
  const onStream = (stream: SpdyStream) => stream.accept()
  const hand = byHand((far) => createSpdySession(far, { role: 'server', onStream }))
  hand.send(synStream(1))
  hand.send(frame)
  expect(await hand.server.closed).toMatchObject({ code: 'NP_STREAMS_SPDY' })
})

test('a connection that breaks off ends every stream', async () => {
  const streams: SpdyStream[] = []
  const { client, near, server } = pair((stream) => {
    stream.accept()
    streams.push(stream)
  })
  await client.open(NAMED).accepted
  const ended = new Promise((resolve) => streams[0]!.bytes.once('close', resolve))
  near.destroy()
  await ended
  await server.closed
  expect(() => client.open(NAMED)).toThrow('the session is over')
})

test('mutated frames end the session or pass, without another exception', async () => {
  const writer = new SpdyFrameWriter()
  const frames: readonly SpdyFrame[] = [
    synStream(1),
    { type: 'data', streamId: 1, isLast: false, data: Buffer.from('some data') },
    { type: 'settings', values: new Map([[7, 100_000]]) },
    { type: 'window-update', streamId: 0, delta: 1000 },
    { type: 'ping', id: 1 },
    { type: 'headers', streamId: 1, isLast: false, headers: NAMED },
    { type: 'reset', streamId: 1, status: 5 },
    { type: 'go-away', lastStreamId: 1, status: 0 },
  ]
  const good = Buffer.concat(frames.map((frame) => writer.write(frame)))
  const change = fc.tuple(fc.nat(good.length - 1), fc.nat(255))
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 6 }), fc.nat(40), async (changes, cut) => {
      const bad = Buffer.from(good)
      for (const [at, value] of changes) bad[at] = value
      const [near, far] = duplexPair()
      near.resume()
      near.on('error', () => undefined)
      const session = createSpdySession(far, {
        role: 'server',
        onStream: (stream) => {
          stream.accept()
          stream.bytes.resume()
        },
      })
      for (let at = 0; at < bad.length; at += cut + 1) near.write(bad.subarray(at, at + cut + 1))
      near.end()
      const error = await session.closed
      expect([undefined, 'NP_STREAMS_SPDY']).toContain(
        (error as { code?: string } | undefined)?.code,
      )
    }),
    { numRuns: 500 },
  )
})
