import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { decode, type StringAnswer } from 'dns-packet'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSyscalls } from '../../kernel/sockets/syscalls.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { ForwardedAnswer } from '../forward/forwarder.ts'
import type { ForwardQuestion } from '../forward/message/query.ts'
import { goldenZone } from '../testing/golden-zone.ts'
import { question } from '../testing/query-server.ts'
import { Authority } from './authority.ts'
import { Responder } from './responder.ts'
import { AmplificationLimit, ClientNetworks, type ServerParts } from './server-parts.ts'
import { createStatistics } from './statistics.ts'
import { UdpServer } from './udp-server.ts'

const LOOPBACK = '127.0.0.1' as IpAddress
/** Several batches, and fewer than the receive buffer of a client holds. */
const BURST = 200
/** A name of the golden cluster, and its address. */
const OURS = ['web.shop.svc.cluster.local', '10.96.0.10'] as const

const sys = openSyscalls()
const WAYS = [['Node alone', undefined] as const, ...(sys ? [['system calls', sys] as const] : [])]

describe.each(WAYS)('datagrams by %s', (_way, calls) => {
  const statistics = createStatistics()
  const held: { readonly name: string; reply(answer: ForwardedAnswer): void }[] = []
  let allHeld = Promise.withResolvers<void>()
  let server: UdpServer
  let parts: ServerParts
  let client: Socket

  beforeEach(async () => {
    held.length = 0
    const golden = goldenZone()
    allHeld = Promise.withResolvers()
    const query = ({ name }: ForwardQuestion): Promise<ForwardedAnswer> =>
      new Promise((reply) => {
        if (held.push({ name, reply }) === BURST / 2) allHeld.resolve()
      })
    const responder = new Responder({
      authority: new Authority(golden.zone, golden.store),
      statistics,
      forwarder: { query },
      isReady: () => true,
    })
    parts = {
      responder,
      statistics,
      onError: (error: unknown) => {
        throw error
      },
      networks: new ClientNetworks(['127.0.0.1/32' as Cidr]),
      limit: new AmplificationLimit({ clock: systemClock, bytesPerSecond: 1_000 }),
    }
    server = await UdpServer.open(parts, { ip: LOOPBACK, port: 0 }, calls)
    client = await bound('127.0.0.1')
  })

  afterEach(async () => {
    client.close()
    await server.close()
  })

  async function bound(ip: string): Promise<Socket> {
    const socket = createSocket('udp4')
    socket.bind(0, ip)
    await once(socket, 'listening')
    return socket
  }

  /** Sends all at once, and awaits as many responses; by id: code and data of the first answer. */
  async function burst(
    from: Socket,
    names: readonly string[],
  ): Promise<ReadonlyMap<number, string>> {
    const results = new Map<number, string>()
    const { promise, resolve } = Promise.withResolvers<void>()
    from.on('message', (response) => {
      const { id = 0, rcode, answers = [] } = decode(response) as ReturnType<typeof decode> & Code
      results.set(id, (answers[0] as StringAnswer | undefined)?.data ?? rcode)
      if (results.size === names.length) resolve()
    })
    for (const [id, name] of names.entries())
      from.send(question('A', name, { id }), server.port, LOOPBACK)
    await promise
    return results
  }
  interface Code {
    readonly rcode: string
  }

  test('every question of a burst gets its own answer', async () => {
    const names = Array.from({ length: BURST }, (_, id) =>
      id % 3 === 0 ? `n${id}.shop.svc.cluster.local` : OURS[0],
    )
    const results = await burst(client, names)
    expect([...results].sort(([a], [b]) => a - b)).toEqual(
      names.map((name, id) => [id, name === OURS[0] ? OURS[1] : 'NXDOMAIN']),
    )
  })

  test('an answer that comes from another server later goes to its question', async () => {
    const names = Array.from({ length: BURST }, (_, id) =>
      id % 2 === 0 ? OURS[0] : `n${id}.example`,
    )
    const all = burst(client, names)
    await allHeld.promise
    for (const { name, reply } of held.toReversed()) {
      const data = `192.0.2.${Number(/\d+/.exec(name)?.[0]) % 256}`
      const record = { name, type: 'A', class: 'IN', ttl: 5, data } as const
      reply({
        source: 'upstream',
        rcode: 0,
        isAuthentic: false,
        answers: [record],
        authorities: [],
      })
    }
    expect([...(await all)].sort(([a], [b]) => a - b)).toEqual(
      names.map((_, id) => [id, id % 2 === 0 ? OURS[1] : `192.0.2.${id % 256}`]),
    )
  })
  test('an answer that comes after the server was closed is dropped', async () => {
    client.send(question('A', 'late.example'), server.port, LOOPBACK)
    await expect.poll(() => held.length).toBe(1)
    await server.close()
    const other = await bound(LOOPBACK)
    const before = statistics.failures
    held[0]?.reply({
      source: 'upstream',
      rcode: 0,
      isAuthentic: false,
      answers: [],
      authorities: [],
    })
    const received = once(client, 'message').then(([message]) => String(message))
    await setImmediate()
    other.send('end', client.address().port, LOOPBACK)
    expect(await received).toBe('end')
    expect(statistics.failures - before).toBe(0)
    other.close()
    server = await UdpServer.open(parts, { ip: LOOPBACK, port: 0 }, calls)
  })

  test('clients are distinguished: one of another network is refused among others', async () => {
    const other = await bound('127.0.0.2')
    const names = Array.from({ length: BURST }, () => OURS[0])
    const [own, foreign] = await Promise.all([burst(client, names), burst(other, names)])
    other.close()
    expect([new Set(own.values()), new Set(foreign.values())]).toEqual([
      new Set([OURS[1]]),
      new Set(['REFUSED']),
    ])
  })
})
