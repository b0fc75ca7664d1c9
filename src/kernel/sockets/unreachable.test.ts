import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { socketAddress } from './socket-address.ts'
import { openSyscalls, type Syscalls } from './syscalls.ts'
import { portUnreachable, UnreachableSender } from './unreachable.ts'

const at = (ip: string, port: number) => socketAddress(ip as IpAddress, port)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('portUnreachable builds the messages that the kernel sends, with an IP identification of 0', () => {
  const lost = { client: at('10.0.0.1', 40_000), destination: at('10.96.0.1', 53), length: 4 }
  const four = '0303607b0000000045000020000000004011666c0a0000010a6000019c400035000c0000'
  expect(hex(portUnreachable(lost))).toBe(four)
  const six = { client: at('fd00::1', 40_000), destination: at('fd00::2', 53), length: 4 }
  const [one, two] = ['1', '2'].map((last) => `fd00${last.padStart(28, '0')}`)
  expect(hex(portUnreachable(six))).toBe(
    `010400000000000060000000000c1140${one}${two}9c400035000c0000`,
  )
})

test('a socket that could not be opened for want of a descriptor is opened later', () => {
  const sys = openSyscalls()!
  let left = 0
  const sender = new UnreachableSender({
    ...sys,
    socket: () => (left-- > 0 ? 7 : -1),
    sendto: (socket: number) => (socket === 7 ? 36 : -1),
  } as unknown as Syscalls)
  const lost = { client: at('127.0.0.1', 9), destination: at('127.0.0.1', 9), length: 0 }
  expect(sender.send(lost)).toBe(false)
  left = 1
  expect([sender.send(lost), sender.send(lost)]).toEqual([true, true])
})

/** Whether this process may open raw sockets. */
const maySend = () => {
  const sys = openSyscalls()
  if (sys === undefined) return false
  const lost = { client: at('127.0.0.1', 9), destination: at('127.0.0.1', 9), length: 0 }
  return new UnreachableSender(sys).send(lost)
}

describe.skipIf(!maySend())('with CAP_NET_RAW', () => {
  test.each([
    ['udp4', '127.0.0.1'],
    ['udp6', '::1'],
  ] as const)('a connected %s client gets ECONNREFUSED', async (type, ip) => {
    const silent = createSocket(type).bind(0, ip)
    await once(silent, 'listening')
    const { port } = silent.address()
    const client = createSocket(type)
    client.connect(port, ip)
    await once(client, 'connect')
    const refused = new Promise<Error>((resolve) => {
      client.on('error', resolve)
      client.send('x', (error) => error && resolve(error))
    })
    const lost = { client: at(ip, client.address().port), destination: at(ip, port), length: 1 }
    expect(new UnreachableSender(openSyscalls()!).send(lost)).toBe(true)
    expect(await refused).toMatchObject({ code: 'ECONNREFUSED' })
    client.close()
    silent.close()
  })
})
