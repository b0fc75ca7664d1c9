import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { DatagramBatch } from './datagram-batch.ts'
import { ipOf, portOf, socketAddress } from './socket-address.ts'
import { Sockets } from './sockets.ts'
import { openSyscalls } from './syscalls.ts'

const LOCALHOST = '127.0.0.1' as IpAddress
const LOCALHOST_6 = '::1' as IpAddress

describe.skipIf(openSyscalls() === undefined)('datagrams in batches', () => {
  const sys = openSyscalls()!
  const sockets = new Sockets(sys)
  const cleanups: (() => void)[] = []
  afterEach(() => {
    for (const clean of cleanups.splice(0)) clean()
  })

  function open(ip: IpAddress) {
    const socket = sockets.bindDatagrams(ip, 0)
    cleanups.push(() => sys.close(socket))
    return { socket, port: portOf(sockets.localAddress(socket)), batch: new DatagramBatch(sys) }
  }

  async function client(ip: IpAddress): Promise<Socket> {
    const socket = createSocket(ip === LOCALHOST ? 'udp4' : 'udp6')
    cleanups.push(() => socket.close())
    socket.bind(0, ip)
    await once(socket, 'listening')
    return socket
  }

  const send = (from: Socket, text: string, port: number, ip: IpAddress): Promise<void> =>
    new Promise((resolve) => from.send(text, port, ip, () => resolve()))

  async function answers(from: Socket, count: number): Promise<readonly string[]> {
    const texts: string[] = []
    while (texts.length < count) {
      const [message] = (await once(from, 'message')) as [Buffer, RemoteInfo]
      texts.push(message.toString())
    }
    return texts
  }

  test.each([LOCALHOST, LOCALHOST_6])(
    'each client of %s gets the answers to its own datagrams',
    async (ip) => {
      const { socket, port, batch } = open(ip)
      const [one, two] = [await client(ip), await client(ip)]
      const [ofOne, ofTwo] = [answers(one, 2), answers(two, 1)]
      await send(one, 'a', port, ip)
      await send(two, 'bcd', port, ip)
      await send(one, '', port, ip)
      expect(batch.receive(socket)).toBe(3)
      expect([0, 1, 2].map((index) => batch.message(index).toString())).toEqual(['a', 'bcd', ''])
      const sender = batch.sender(1)
      expect([ipOf(sender), portOf(sender)]).toEqual([ip, two.address().port])
      batch.answer(2, Buffer.from('third'))
      batch.answer(0, Buffer.from('first'))
      batch.answer(1, Buffer.from('second'))
      expect(batch.send(socket)).toBe(3)
      expect([await ofOne, await ofTwo]).toEqual([['third', 'first'], ['second']])
    },
  )

  test('more datagrams than a batch holds are received by the next one', async () => {
    const { socket, port, batch } = open(LOCALHOST)
    const from = await client(LOCALHOST)
    for (let index = 0; index < batch.size + 3; index += 1) {
      await send(from, String(index), port, LOCALHOST)
    }
    expect(batch.receive(socket)).toBe(batch.size)
    expect(batch.receive(socket)).toBe(3)
    expect(batch.message(2).toString()).toBe(String(batch.size + 2))
    expect(batch.receive(socket)).toBe(-1)
  })

  test('an answer that the kernel refuses does not keep back those behind it', async () => {
    const { socket, port, batch } = open(LOCALHOST)
    const [gone, stays] = [await client(LOCALHOST), await client(LOCALHOST)]
    const answer = answers(stays, 1)
    await send(gone, 'x', port, LOCALHOST)
    await send(stays, 'y', port, LOCALHOST)
    expect(batch.receive(socket)).toBe(2)
    // Nothing can be sent to port 0.
    batch.sender(0).fill(0, 2, 4)
    batch.answer(0, Buffer.from('lost'))
    batch.answer(1, Buffer.from('kept'))
    expect(batch.send(socket)).toBe(1)
    expect(await answer).toEqual(['kept'])
  })

  test('one datagram is sent to any address, also after the next batch', async () => {
    const { socket, batch } = open(LOCALHOST)
    const to = await client(LOCALHOST)
    const answer = answers(to, 1)
    const address = socketAddress(LOCALHOST, to.address().port)
    expect(batch.sendTo(socket, Buffer.from('later'), address)).toBe(true)
    expect(await answer).toEqual(['later'])
    expect(batch.sendTo(socket, Buffer.from('x'), socketAddress(LOCALHOST, 0))).toBe(false)
  })

  test('a longer datagram is cut off, and none is sent', async () => {
    const { socket, port, batch } = open(LOCALHOST)
    const from = await client(LOCALHOST)
    await send(from, 'x'.repeat(3_000), port, LOCALHOST)
    expect(batch.receive(socket)).toBe(1)
    expect(batch.message(0)).toHaveLength(2_048)
    expect(() => batch.answer(0, Buffer.alloc(2_049))).toThrow(RangeError)
    expect(batch.send(socket)).toBe(0)
  })
})
