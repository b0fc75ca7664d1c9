import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { servePod } from './pod-serve.ts'
import { sendRequest } from './send-request.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

test('a pod reports its name and the source address that it saw', async () => {
  const pod = await servePod({ name: 'pod-9', ip: '127.0.0.1', port: 0 })
  closing.push(() => pod.close())
  const { port } = pod
  const url = `http://127.0.0.1:${port}/`
  const answer = await sendRequest({ url, from: '127.0.0.5', timeoutMs: 5000 })
  expect(answer).toMatchObject({ kind: 'answered', status: 200 })
  expect(answer.kind === 'answered' && JSON.parse(answer.body)).toEqual({
    pod: 'pod-9',
    client: '127.0.0.5',
  })
})

test('distinguishes refusal, silence and failure', async () => {
  const sockets: Socket[] = []
  const mute = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as AddressInfo
  expect(await sendRequest({ url: `http://127.0.0.1:${port}/`, timeoutMs: 50 })).toMatchObject({
    kind: 'silent',
  })
  mute.close()
  for (const socket of sockets) socket.destroy()
  await once(mute, 'close')
  expect(await sendRequest({ url: `http://127.0.0.1:${port}/`, timeoutMs: 5000 })).toMatchObject({
    kind: 'refused',
  })
  const rude = createServer((socket) => socket.end('not HTTP')).listen(0, '127.0.0.1')
  closing.push(() => rude.close())
  await once(rude, 'listening')
  const url = `http://127.0.0.1:${(rude.address() as AddressInfo).port}/`
  expect(await sendRequest({ url, timeoutMs: 5000 })).toMatchObject({ kind: 'failed' })
})

test('a request as an account whose files are missing has failed', async () => {
  const answer = await sendRequest({
    url: 'https://127.0.0.1:1/',
    timeoutMs: 5000,
    asAccount: true,
  })
  expect(answer).toMatchObject({ kind: 'failed', code: 'ENOENT' })
})
