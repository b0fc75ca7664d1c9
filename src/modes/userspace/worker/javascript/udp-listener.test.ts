import { createSocket, Socket } from 'node:dgram'
import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import type { IpAddress } from '../../../../lib/ip.ts'
import { type ListenerParts, openUdpListener } from './udp-listener.ts'

const LOOPBACK = '127.0.0.1' as IpAddress

test('a listener that cannot bind leaves no socket open', async () => {
  const other = createSocket('udp4')
  other.bind({ address: LOOPBACK, port: 0, exclusive: true })
  await once(other, 'listening')
  const closed = vi.spyOn(Socket.prototype, 'close')
  const { port } = other.address()
  const opening = openUdpListener({} as ListenerParts, { protocol: 'UDP', ip: LOOPBACK, port })
  await expect(opening).rejects.toThrow('EADDRINUSE')
  expect(closed).toHaveBeenCalledTimes(1)
  other.close()
})
