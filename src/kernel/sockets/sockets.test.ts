import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { EPOLL, ERRNO } from './constants.ts'
import { Datagrams } from './datagrams.ts'
import { PIPE_BYTES, PipePool } from './pipes.ts'
import { Poller } from './poller.ts'
import { ipOf, portOf, SOCKET_ADDRESS_BYTES, socketAddress } from './socket-address.ts'
import { Sockets } from './sockets.ts'
import { openSyscalls } from './syscalls.ts'

const LOCALHOST = '127.0.0.1' as IpAddress
const LOCALHOST_6 = '::1' as IpAddress
const WAIT_MS = 5_000

describe.skipIf(openSyscalls() === undefined)('sockets by system calls', () => {
  const sys = openSyscalls()!
  const sockets = new Sockets(sys)
  const opened: number[] = []
  const closedAfterTest = (socket: number) => {
    opened.push(socket)
    return socket
  }
  afterEach(() => {
    for (const socket of opened.splice(0)) sys.close(socket)
  })

  function listen(ip: IpAddress) {
    const socket = closedAfterTest(sockets.listenTcp(ip, 0))
    return { socket, port: portOf(sockets.localAddress(socket)) }
  }

  /** The events of the descriptors that are ready first. */
  function readiness(poller: Poller): ReadonlyMap<number, number> {
    const ready = new Map<number, number>()
    poller.wait(WAIT_MS, (descriptor, events) => ready.set(descriptor, events))
    return ready
  }

  test.each([LOCALHOST, LOCALHOST_6])(
    'a client of %s is accepted, with its address and that of the listener',
    (ip) => {
      const { socket, port } = listen(ip)
      const client = closedAfterTest(sockets.connect('tcp', socketAddress(ip, port), 0))
      const poller = new Poller(sys)
      poller.addReadable(socket)
      expect(readiness(poller)).toEqual(new Map([[socket, EPOLL.in]]))
      const peer = new Uint8Array(SOCKET_ADDRESS_BYTES)
      const accepted = closedAfterTest(sockets.accept(socket, peer))
      expect([ipOf(peer), portOf(peer)]).toEqual([ip, portOf(sockets.localAddress(client))])
      expect(portOf(sockets.localAddress(accepted))).toBe(port)
      expect([sockets.accept(socket, peer), sys.errno()]).toEqual([-1, ERRNO.again])
      poller.close()
    },
  )

  test('listening on an address in use, or of another machine, throws an error with the address and errno', () => {
    const { port } = listen(LOCALHOST)
    expect(() => sockets.listenTcp(LOCALHOST, port)).toThrow(
      expect.objectContaining({
        code: 'NP_KERNEL_SOCKET',
        message: `cannot listen on 127.0.0.1:${port}: EADDRINUSE`,
      }),
    )
    expect(() => sockets.bindUdp('192.0.2.1' as IpAddress, 53)).toThrow(
      'cannot listen on 192.0.2.1:53: EADDRNOTAVAIL',
    )
  })

  test('sockets share an address only when all of them are opened as shared', () => {
    const first = closedAfterTest(sockets.bindUdp(LOCALHOST, 0, { shared: true }))
    const port = portOf(sockets.localAddress(first))
    closedAfterTest(sockets.bindUdp(LOCALHOST, port, { shared: true }))
    expect(() => sockets.bindUdp(LOCALHOST, port)).toThrow('EADDRINUSE')
  })

  test('a refused connection is reported with EPOLLERR and EPOLLHUP', () => {
    const { socket, port } = listen(LOCALHOST)
    sys.close(opened.splice(opened.indexOf(socket), 1)[0]!)
    const client = closedAfterTest(sockets.connect('tcp', socketAddress(LOCALHOST, port), 0))
    const poller = new Poller(sys)
    poller.addEdge(client)
    expect(readiness(poller).get(client)! & (EPOLL.err | EPOLL.hup)).toBe(EPOLL.err | EPOLL.hup)
    poller.close()
  })

  test('the peer sees ECONNRESET at a close after resetOnClose, and the end of the stream after endWriting', async () => {
    const server = createServer({ allowHalfOpen: true }).listen(0, LOCALHOST)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const outcome = async (finish: (client: number) => void) => {
      const seen = once(server, 'connection')
      const client = sockets.connect('tcp', socketAddress(LOCALHOST, port), 0)
      const [peer] = await seen
      peer.resume()
      const ended = Promise.race([
        once(peer, 'end').then(() => 'end'),
        once(peer, 'error').catch((error) => error.code),
      ])
      finish(client)
      sys.close(client)
      const result = await ended.catch((error) => error.code)
      peer.on('error', () => undefined).destroy()
      return result
    }
    expect(await outcome((client) => sockets.resetOnClose(client))).toBe('ECONNRESET')
    expect(await outcome((client) => sockets.endWriting(client))).toBe('end')
    server.close()
  })

  test('a borrowed pipe moves bytes from a socket to a socket, and is borrowed again when it is back', async () => {
    const { socket, port } = listen(LOCALHOST)
    const client = connect(port, LOCALHOST)
    await once(client, 'connect')
    const peer = closedAfterTest(sockets.accept(socket, new Uint8Array(SOCKET_ADDRESS_BYTES)))
    const poller = new Poller(sys)
    poller.addEdge(peer)
    client.write('to and fro')
    while (!((readiness(poller).get(peer) ?? 0) & EPOLL.in));
    const pipes = new PipePool(sys, 1)
    const pipe = pipes.borrow()!
    expect([pipes.borrow(), pipes.fill(pipe, peer)]).toEqual([undefined, 10])
    expect(pipes.empty(pipe, peer, PIPE_BYTES)).toBe(10)
    const [echo] = await once(client, 'data')
    expect(String(echo)).toBe('to and fro')
    pipes.giveBack(pipe)
    expect(pipes.borrow()).toBe(pipe)
    pipes.discard(pipe)
    client.destroy()
    poller.close()
  })

  test('a datagram is received with its source and destination, and answered from that destination', async () => {
    const receiver = closedAfterTest(sockets.bindUdp(LOCALHOST, 0))
    const port = portOf(sockets.localAddress(receiver))
    const datagrams = new Datagrams(sys)
    expect([datagrams.receive(receiver), datagrams.errno()]).toEqual([-1, ERRNO.again])
    const client = createSocket('udp4')
    client.bind(0, LOCALHOST)
    await once(client, 'listening')
    const poller = new Poller(sys)
    poller.addReadable(receiver)
    await new Promise((sent) => client.send('question', port, LOCALHOST, sent))
    expect(readiness(poller).has(receiver)).toBe(true)
    const length = datagrams.receive(receiver)
    const source = datagrams.source.slice()
    expect([length, ipOf(source), portOf(source)]).toEqual([8, LOCALHOST, client.address().port])
    const destination = datagrams.destination!
    expect([ipOf(destination), portOf(destination)]).toEqual([LOCALHOST, port])
    expect(datagrams.passTo(receiver, length, { from: destination.slice(), to: source })).toBe(8)
    const [answer] = await once(client, 'message')
    expect(String(answer)).toBe('question')
    client.close()
    poller.close()
  })
})
