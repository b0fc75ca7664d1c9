import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { servePod } from '../pod/serve.ts'
import { ask } from './ask.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

test('a pod says who it is and whom it saw', async () => {
  const pod = await servePod({ name: 'pod-9', ip: '127.0.0.1', port: 0 })
  closing.push(() => pod.close())
  const { port } = pod
  const url = `http://127.0.0.1:${port}/`
  const answer = await ask({ url, from: '127.0.0.5', timeoutMs: 5000 })
  expect(answer).toMatchObject({ kind: 'answered', status: 200 })
  expect(answer.kind === 'answered' && JSON.parse(answer.body)).toEqual({
    pod: 'pod-9',
    client: '127.0.0.5',
  })
})

test('tells refusal, silence and failure apart', async () => {
  const sockets: Socket[] = []
  const mute = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as AddressInfo
  expect(await ask({ url: `http://127.0.0.1:${port}/`, timeoutMs: 50 })).toMatchObject({
    kind: 'silent',
  })
  mute.close()
  for (const socket of sockets) socket.destroy()
  await once(mute, 'close')
  expect(await ask({ url: `http://127.0.0.1:${port}/`, timeoutMs: 5000 })).toMatchObject({
    kind: 'refused',
  })
  const rude = createServer((socket) => socket.end('not HTTP')).listen(0, '127.0.0.1')
  closing.push(() => rude.close())
  await once(rude, 'listening')
  const url = `http://127.0.0.1:${(rude.address() as AddressInfo).port}/`
  expect(await ask({ url, timeoutMs: 5000 })).toMatchObject({ kind: 'failed' })
})
