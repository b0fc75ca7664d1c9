import { type Duplex, duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMessageStream } from '../message-stream.ts'
import type { TerminalSize } from '../node-streams.ts'
import { createSpdySession } from '../spdy/spdy-session.ts'
import { readTerminalSize, resultOf, statusOf } from './channels.ts'
import { createRemoteCommand } from './command-client.ts'
import { serveCommandOverSpdy, serveCommandOverWebSocket } from './serve-command.ts'

const ALL = { stdin: true, stdout: true, stderr: true, tty: false }

function webSockets(): readonly [Duplex, Duplex] {
  const [near, far] = duplexPair()
  const clock = new FakeClock()
  return [
    createMessageStream(near, { role: 'client', clock }),
    createMessageStream(far, { role: 'server', clock }),
  ]
}

test.each([{ exitCode: 0 }, { exitCode: 3 }, { exitCode: 255 }, { problem: 'no such program' }])(
  'the result %j as a Status and back',
  (result) => {
    const back = resultOf(JSON.stringify(statusOf(result)))
    const said =
      'problem' in result ? { problem: `Internal error occurred: ${result.problem}` } : result
    expect(back).toEqual(said)
  },
)

test.each(['', '[]', '{}', '{"status":"Failure","reason":"NonZeroExitCode"}', '{'])(
  'the Status %j is no result',
  (status) => expect(resultOf(status)).toHaveProperty('problem'),
)

test('whatever is sent as the size of a terminal is a size or nothing', () => {
  expect(readTerminalSize(Buffer.from('{"Width":80,"Height":24}'))).toEqual({
    width: 80,
    height: 24,
  })
  for (const wrong of [
    '{"Width":0,"Height":1}',
    '{"Width":1e9,"Height":1}',
    '{"Width":"1"}',
    '[',
  ]) {
    expect(readTerminalSize(Buffer.from(wrong))).toBeUndefined()
  }
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => readTerminalSize(Buffer.from(bytes)) === undefined),
  )
})

test('a command over a WebSocket: input with its end, both outputs, a size, the exit code', async () => {
  const [near, far] = webSockets()
  const command = createRemoteCommand(near)
  const server = serveCommandOverWebSocket(far, ALL)
  const resized = new Promise<TerminalSize>((resolve) => server.onResize(resolve))
  command.resize({ width: 132, height: 50 })
  expect(await resized).toEqual({ width: 132, height: 50 })
  const big = 'x'.repeat(300_000)
  command.stdin.end(big)
  expect((await text(server.stdin!)).length).toBe(big.length)
  const outputs = Promise.all([text(command.stdout), text(command.stderr)])
  await new Promise<void>((resolve) => server.stdout?.end(big, resolve))
  await new Promise<void>((resolve) => server.stderr?.end('problem', resolve))
  await server.finish({ exitCode: 7 })
  expect(await command.ended).toEqual({ exitCode: 7 })
  expect(await outputs).toEqual([big, 'problem'])
})

test('a client that breaks off ends the input, and the connection', async () => {
  const [near, far] = webSockets()
  const command = createRemoteCommand(near)
  const server = serveCommandOverWebSocket(far, ALL)
  command.close()
  far.destroy()
  expect(await text(server.stdin!)).toBe('')
  await server.closed
  expect(await command.ended).toHaveProperty('problem')
})

test('input that the command has not read delays neither its result nor the end', async () => {
  const [near, far] = webSockets()
  const command = createRemoteCommand(near)
  const server = serveCommandOverWebSocket(far, ALL)
  for (let count = 0; count < 20; count++) command.stdin.write(Buffer.alloc(64 << 10))
  await expect.poll(() => far.isPaused()).toBe(true)
  await server.finish({ exitCode: 3 })
  expect(await command.ended).toEqual({ exitCode: 3 })
})

test('an output that is destroyed delays the result no more', async () => {
  const [near, far] = webSockets()
  const command = createRemoteCommand(near)
  const server = serveCommandOverWebSocket(far, ALL)
  const chunk = Buffer.alloc(256 << 10)
  server.stdout?.write(chunk)
  await expect.poll(() => near.isPaused()).toBe(true)
  command.stdout.destroy()
  await new Promise<void>((resolve) => server.stdout?.end(chunk, resolve))
  await server.finish({ exitCode: 0 })
  expect(await command.ended).toEqual({ exitCode: 0 })
})

/** Opens streams as client-go does, on a connection to a server that wants `ALL`. */
async function spdyClient(types: readonly string[], clock = systemClock) {
  const [near, far] = duplexPair()
  const client = createSpdySession(near, { role: 'client' })
  const server = serveCommandOverSpdy(far, ALL, clock)
  const streams = types.map((type) => client.open(new Map([['streamtype', type]])).bytes)
  return { client, server, streams }
}

test('a command over SPDY', async () => {
  const { client, server, streams } = await spdyClient(['error', 'stdin', 'stdout', 'stderr'])
  const connection = (await server)!
  const [error, stdin, stdout, stderr] = streams
  stdin?.end('input')
  expect(await text(connection.stdin!)).toBe('input')
  connection.stdout?.end('output')
  connection.stderr?.end('problem')
  const outputs = Promise.all([stdout, stderr, error].map((stream) => text(stream!)))
  await connection.finish({ exitCode: 0 })
  const [first, second, status] = await outputs
  expect([first, second, resultOf(status!)]).toEqual(['output', 'problem', { exitCode: 0 }])
  expect(await client.closed).toBeUndefined()
})

test('streams that do not come in time, or that the server does not want, are refused', async () => {
  const clock = new FakeClock()
  const { server, streams, client } = await spdyClient(['error', 'resize', 'error'], clock)
  const failed = streams.slice(1).map((stream) => new Promise((done) => stream.once('error', done)))
  expect(await Promise.all(failed)).toMatchObject([
    { code: 'NP_STREAMS_RESET' },
    { code: 'NP_STREAMS_RESET' },
  ])
  await clock.advance(30_000)
  expect(await server).toBeUndefined()
  await client.closed
})

test('messages of any kind do nothing worse than nothing', async () => {
  const message = fc.uint8Array({ minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 10 }), async (messages) => {
      const [near, far] = webSockets()
      near.resume()
      const server = serveCommandOverWebSocket(far, ALL)
      server.stdin?.resume()
      for (const one of messages) near.write(one)
      near.end()
      await server.closed
    }),
    { numRuns: 300 },
  )
})
