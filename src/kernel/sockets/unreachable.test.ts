import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { socketAddress } from './socket-address.ts'
import { openSyscalls } from './syscalls.ts'
import { portUnreachable, Unreachable } from './unreachable.ts'

const at = (ip: string, port: number) => socketAddress(ip as IpAddress, port)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('the packets that the kernel sends, but for their identification', () => {
  const lost = { client: at('10.0.0.1', 40_000), destination: at('10.96.0.1', 53), length: 4 }
  const four = '0303607b0000000045000020000000004011666c0a0000010a6000019c400035000c0000'
  expect(hex(portUnreachable(lost))).toBe(four)
  const six = { client: at('fd00::1', 40_000), destination: at('fd00::2', 53), length: 4 }
  const [one, two] = ['1', '2'].map((last) => `fd00${last.padStart(28, '0')}`)
  expect(hex(portUnreachable(six))).toBe(
    `010400000000000060000000000c1140${one}${two}9c400035000c0000`,
  )
})

/** Raw sockets need rights. */
const maySend = () => {
  const sys = openSyscalls()
  if (sys === undefined) return false
  const lost = { client: at('127.0.0.1', 9), destination: at('127.0.0.1', 9), length: 0 }
  return new Unreachable(sys).send(lost)
}

describe.skipIf(!maySend())('with CAP_NET_RAW', () => {
  test.each([
    ['udp4', '127.0.0.1'],
    ['udp6', '::1'],
  ] as const)('a connected %s client hears it', async (type, ip) => {
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
    expect(new Unreachable(openSyscalls()!).send(lost)).toBe(true)
    expect(await refused).toMatchObject({ code: 'ECONNREFUSED' })
    client.close()
    silent.close()
  })
})
