import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { join } from './port-forward-command.ts'

let server: Server | undefined
afterEach(() => server?.close())

/** A program that is connected to this machine's port, and a Pod behind it. */
async function connected() {
  server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'connection')
  const program = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [client] = (await accepted) as [Socket]
  client.on('error', () => undefined)
  const [stream, pod] = duplexPair()
  return { program, pod, stream, joined: join(client, stream) }
}

/** Everything until the end of one direction; the other one stays open. */
async function received(stream: Duplex): Promise<string> {
  let all = ''
  stream.setEncoding('utf8').on('data', (text: string) => {
    all += text
  })
  await once(stream, 'end')
  return all
}

test('each direction ends on its own', async () => {
  const { program, pod, joined } = await connected()
  program.end('question')
  expect(await received(pod)).toBe('question')
  pod.end('answer')
  expect(await received(program)).toBe('answer')
  await joined
})

test('where the Pod breaks off, the client is reset, and the reason is known', async () => {
  const { program, pod, stream, joined } = await connected()
  pod.write('a part of the answer')
  const [bytes] = (await once(program, 'data')) as [Buffer]
  expect(String(bytes)).toBe('a part of the answer')
  const failed = once(program, 'end').then(
    () => 'ended',
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  )
  stream.destroy(new Error('the node is gone'))
  await expect(joined).rejects.toThrow('the node is gone')
  expect(await failed).toBe('ECONNRESET')
})

test('a client that breaks off ends the stream, and is nothing to report', async () => {
  const { program, pod, stream, joined } = await connected()
  pod.write('an answer that nobody reads')
  await once(program, 'readable')
  program.resetAndDestroy()
  await joined
  expect(stream.destroyed).toBe(true)
})
