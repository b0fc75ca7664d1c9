import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { holdClients } from './hold-clients.ts'
import { portOf, SOCKET_ADDRESS_BYTES } from './socket-address.ts'
import { Sockets } from './sockets.ts'
import { openSyscalls } from './syscalls.ts'

const LOCALHOST = '127.0.0.1' as IpAddress

describe.skipIf(openSyscalls() === undefined)('holdClients', () => {
  const sys = openSyscalls()!
  const sockets = new Sockets(sys)
  const peer = new Uint8Array(SOCKET_ADDRESS_BYTES)

  test('a client in the queue is accepted; a later one connects to the next listener', async () => {
    const first = sockets.listenTcp(LOCALHOST, 0, { shared: true })
    const port = portOf(sockets.localAddress(first))
    const early = connect(port, LOCALHOST)
    await once(early, 'connect')
    expect(holdClients(sys, first)).toBe(true)
    const late = connect(port, LOCALHOST)
    const connected = once(late, 'connect')
    await setImmediate()
    const accepted = sockets.accept(first, peer)
    expect(accepted).toBeGreaterThan(0)
    expect(sockets.accept(first, peer)).toBe(-1)
    const second = sockets.listenTcp(LOCALHOST, port, { shared: true })
    sys.close(first)
    await connected
    for (const client of [early, late]) client.destroy()
    for (const socket of [second, accepted]) sys.close(socket)
  })

  test('returns false for a descriptor that is not open', () => {
    expect(holdClients(sys, -1)).toBe(false)
  })
})
