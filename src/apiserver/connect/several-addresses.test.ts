import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { nodeAddresses } from './node-addresses.ts'
import { ADDRESS, NODE, type NodesOptions, nodeObject, startNodes } from './testing/nodes.ts'

const authority = await newTestAuthority('cluster')

/** What connections to an address meet. */
type Peer = () => Socket | undefined

const refuses: Peer = () => connect(1, '127.0.0.1')
/** The address that answers. */
const answers: Peer = () => undefined

/** A node with these InternalIPs, in this order, and what is at each. */
async function nodeAt(peers: Readonly<Record<string, Peer>>, more: Partial<NodesOptions> = {}) {
  const dialled: string[] = []
  const nodes = await startNodes({
    authority,
    instead(address) {
      dialled.push(address)
      return peers[address]?.()
    },
    ...more,
  })
  const body = nodeObject('n1', ...Object.keys(peers))
  expect((await nodes.api.as('root', 'PUT', `${NODE}/status`, { body })).status).toBe(200)
  return { ...nodes, dialled }
}

/** Connections to it are made, and nothing is ever said on them. */
async function silentPeer() {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  return { sockets, peer: () => connect(port, '127.0.0.1') }
}

test('the next InternalIP is tried where the connection is refused, and gets the request once', async () => {
  const { get, received, dialled } = await nodeAt({ 'fd00::7': refuses, [ADDRESS]: answers })
  expect((await get()).status).toBe(200)
  expect(dialled).toEqual(['fd00::7', ADDRESS])
  expect(received.map(({ headers }) => headers.host)).toEqual([`${ADDRESS}:10246`])
})

test('one that answers is the only one', async () => {
  const { get, dialled } = await nodeAt({ [ADDRESS]: answers, 'fd00::7': answers })
  expect((await get()).status).toBe(200)
  expect(dialled).toEqual([ADDRESS])
})

test('one whose certificate does not name it is followed by the next', async () => {
  const { get, received } = await nodeAt({ '192.0.2.8': answers, [ADDRESS]: answers })
  expect((await get()).status).toBe(200)
  expect(received).toHaveLength(1)
})

test('beside a silent one the next is tried after 250 ms, and its connection ends', async () => {
  const clock = new FakeClock()
  const silent = await silentPeer()
  const peers = { 'fd00::7': silent.peer, [ADDRESS]: answers }
  const { get, dialled } = await nodeAt(peers, { clock })
  const answer = get()
  await expect.poll(() => silent.sockets.length).toBe(1)
  await clock.advance(249)
  expect(dialled).toEqual(['fd00::7'])
  await clock.advance(1)
  expect((await answer).status).toBe(200)
  expect(dialled).toEqual(['fd00::7', ADDRESS])
  await expect.poll(() => silent.sockets[0]?.destroyed).toBe(true)
})

test('every address that was tried is named with its reason, and each remedy once', async () => {
  const clock = new FakeClock()
  const silent = await silentPeer()
  const peers = { 'fd00::7': silent.peer, 'fd00::8': refuses, [ADDRESS]: refuses }
  const { get, dialled } = await nodeAt(peers, { clock })
  const answer = get()
  await expect.poll(() => silent.sockets.length).toBe(1)
  await clock.advance(250)
  const areRefused = () => dialled.length === 3 && !clock.pending().includes(250)
  await expect.poll(areRefused).toBe(true)
  await clock.advance(4750)
  const { status, body } = await answer
  expect([status, body['message']]).toEqual([
    503,
    [
      'node "n1" cannot be read at [fd00::7]:10246: there was no TLS connection within 5 s',
      ', nor at [fd00::8]:10246: the connection was refused',
      `, nor at ${ADDRESS}:10246: the connection was refused`,
      '; check inspection.bindAddress of its node-proxy, and the firewalls between this server and the node',
      '; set inspection.bindAddress of its node-proxy, or name its port as in /api/v1/nodes/NAME:PORT/proxy/',
    ].join(''),
  ])
})

test('five seconds are the limit of all of them', async () => {
  const clock = new FakeClock()
  const silent = await silentPeer()
  const addresses = ['fd00::1', 'fd00::2', 'fd00::3']
  const { get } = await nodeAt(
    Object.fromEntries(addresses.map((address) => [address, silent.peer])),
    { clock },
  )
  const answer = get()
  await expect.poll(() => silent.sockets.length).toBe(1)
  await clock.advance(5000)
  const { text } = await answer
  expect(text.match(/no TLS connection within 5 s/g)).toHaveLength(3)
  await expect.poll(() => silent.sockets.every(({ destroyed }) => destroyed)).toBe(true)
})

test('after a request was sent no other address gets it', async () => {
  const { get, received, dialled } = await nodeAt(
    { '192.0.2.8': refuses, [ADDRESS]: answers, 'fd00::7': answers },
    { handler: ({ socket }) => void socket.destroy() },
  )
  const { body } = await get()
  expect(body['message']).toContain(
    `at 192.0.2.8:10246: the connection was refused, nor at ${ADDRESS}:10246: it ended the connection`,
  )
  expect(dialled).toEqual(['192.0.2.8', ADDRESS])
  expect(received).toHaveLength(1)
})

test('a refusal by the node names the addresses before, too', async () => {
  const { get } = await nodeAt(
    { '192.0.2.8': refuses, [ADDRESS]: answers },
    { handler: (_, response) => void response.writeHead(403).end() },
  )
  expect((await get()).body['message']).toMatch(
    /8:10246: the connection was refused, nor at .*7:10246: it does not let user .*; set .*; bind /,
  )
})

test('addresses that are not usable are left out, and four are enough', () => {
  const own = { ownAddresses: () => [], ownPorts: () => [] }
  const wanted = { port: 1, types: ['InternalIP'] }
  const node = nodeObject('n1', '127.0.0.1', 'x', 'fd00::7', 'FD00:0::7', ADDRESS)
  expect(nodeAddresses(own, node, wanted)).toEqual(['fd00::7', ADDRESS])
  const many = Array.from({ length: 9 }, (_, at) => `192.0.2.${at}`)
  expect(nodeAddresses(own, nodeObject('n1', ...many), wanted)).toEqual(many.slice(0, 4))
})
