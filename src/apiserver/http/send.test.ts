import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { defaultLimits } from '../context/limits.ts'
import { Lifecycle } from '../health/health-checks.ts'
import { send } from './send.ts'

let server: Server | undefined
afterEach(() => server?.close())

const LONG = Buffer.alloc(200 << 10, 'x')

function* failing(wholeChunks: number): Generator<Buffer> {
  for (let index = 0; index < wholeChunks; index++) yield LONG
  throw new Error('this object cannot be encoded')
}

/** A server that answers everything with `body`. @returns its address, and what was passed to `onError` */
async function serving(body: () => Iterable<Buffer>) {
  const errors: unknown[] = []
  const context = { clock: new FakeClock(), limits: defaultLimits, lifecycle: new Lifecycle() }
  const onError = (error: unknown) => errors.push(error)
  server = createServer((request, response) => {
    const exchange = { request, response, upgrade: undefined }
    const reply = { code: 200, contentType: 'application/json', body: body() }
    send({ context, onError }, exchange, reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, errors }
}

test.each([
  ['identity', 2],
  ['gzip', 2],
  ['identity', 20],
])(
  'an answer (%s) whose generation fails after %i chunks is cut off, and reported',
  async (encoding, chunks) => {
    const { url, errors } = await serving(() => failing(chunks))
    const answer = await fetch(url, { headers: { 'accept-encoding': encoding } })
    expect(answer.status).toBe(200)
    await expect(answer.text()).rejects.toThrow('terminated')
    expect(errors.map(String)).toEqual(['Error: this object cannot be encoded'])
  },
)

test('an answer that is generated whole is sent whole', async () => {
  const { url, errors } = await serving(() => Array.from({ length: 20 }, () => LONG))
  const answer = await fetch(url)
  expect((await answer.text()).length).toBe(20 * LONG.length)
  expect(errors).toEqual([])
})
