import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { issueServer } from '../../orchserver/certificates/issue.ts'
import { newKey } from '../../orchserver/certificates/pem.ts'
import { nodeAddresses } from './node-addresses.ts'
import { NODE, nodeObject, STATUS, startNodes } from './testing/nodes.ts'

const authority = await newTestAuthority('cluster')
const other = await newTestAuthority('other')

const unavailable = (text: string, code = 503) => ({
  kind: 'Status',
  code,
  message: expect.stringMatching(`^node "n1" cannot be read at 192\\.0\\.2\\.7:10246: ${text}`),
  details: { name: 'n1' },
})

test.each(['2130706433', 'localhost', '192.0.2.7:1', '192.0.2.7/metrics'])(
  'a stored InternalIP %j is no address',
  (address) => {
    const refused = nodeAddresses(
      { ownAddresses: () => [], ownPorts: () => [] },
      nodeObject('n1', address),
      { port: 1, types: ['InternalIP'] },
    )
    expect(refused).toMatchObject({
      status: {
        code: 503,
        message: expect.stringContaining(`${address}", which is not an address`),
      },
    })
  },
)

test.each([
  ['127.0.0.1', 400, 'loopback'],
  ['::1', 400, 'loopback'],
  ['::ffff:10.0.0.1', 400, 'is not reached'],
  ['169.254.169.254', 400, 'link-local'],
  ['fe80::1', 400, 'link-local'],
  ['224.0.0.1', 400, 'multicast'],
  ['ff02::1', 400, 'multicast'],
  ['0.0.0.0', 400, 'unspecified'],
])('a node at %j is not reached', async (address, code, message) => {
  const { api, get, dialled } = await startNodes({ authority })
  const body = nodeObject('n1', address)
  expect((await api.as('root', 'PUT', `${NODE}/status`, { body })).status).toBe(200)
  const answer = await get()
  expect(answer.body).toMatchObject({ code, message: expect.stringContaining(message) })
  expect(dialled).toEqual([])
})

test('a node whose address is another type has none', async () => {
  const { api, get } = await startNodes({ authority })
  const addresses = [{ type: 'ExternalIP', address: '192.0.2.8' }]
  await api.make('/api/v1/nodes', { metadata: { name: 'n2' }, status: { addresses } })
  expect((await get(STATUS.replace('n1', 'n2'))).body['message']).toContain('no InternalIP')
})

test('the server itself is not reached, but a node on its machine is', async () => {
  const own = '192.0.2.7' as IpAddress
  const { api, get, dialled } = await startNodes({ authority, ownAddresses: () => [own] })
  const { body } = await get(STATUS.replace('n1', `n1:${api.port}`))
  expect(body).toMatchObject({
    code: 400,
    message: expect.stringContaining(`at 192.0.2.7:${api.port}: this server listens there itself`),
  })
  expect(dialled).toEqual([])
  expect((await get()).status).toBe(200)
})

test('the port of the server is none of its own at another address', async () => {
  const { api, get } = await startNodes({ authority, ownAddresses: () => [] })
  expect((await get(STATUS.replace('n1', `n1:${api.port}`))).status).toBe(200)
})

test.each([
  ['of another authority', { issuer: other }, 'its certificate is not signed by the authority'],
  [
    'for another address',
    { certified: '192.0.2.8' },
    'its certificate does not name this address; make a certificate for this address by `orch-server node-certificate`',
  ],
])('a certificate %s is refused before anything is sent', async (_, node, why) => {
  const { get, received } = await startNodes({ authority, ...node })
  expect((await get()).body).toMatchObject(unavailable(why))
  expect(received).toEqual([])
})

test('a client certificate of the authority is not one of a node', async () => {
  const client = await authority.client('system:node:n1')
  const { get } = await startNodes({
    authority,
    issuer: { ...authority, server: async () => client },
  })
  expect((await get()).body).toMatchObject(unavailable('its certificate is not for servers'))
})

const YEAR = 365 * 86_400_000
test.each([
  ['has expired', -10 * YEAR, 'its certificate has expired; make a certificate'],
  ['is not valid yet', 10 * YEAR, 'its certificate is not valid yet; set the clocks'],
])('a certificate that %s', async (_, ms, why) => {
  const issuer = {
    ...authority,
    server: (address: string) => authority.server(address, Date.now() + ms),
  }
  const { get, received } = await startNodes({ authority, issuer })
  expect((await get()).body).toMatchObject(unavailable(why))
  expect(received).toEqual([])
})

const selfSigned = async (address: string) => {
  const key = newKey()
  const issuer = { subject: 'CN=node', key }
  const names = { dns: [], ips: [address] }
  return { key, cert: await issueServer({ issuer, key, names, subject: 'node' }, Date.now()) }
}
const withAuthority = async (address: string) => {
  const { key, cert } = await other.server(address)
  return { key, cert: `${cert}${other.cert}` }
}
const damaged = async (address: string) => {
  const { key, cert } = await authority.server(address)
  const { raw } = new X509Certificate(cert)
  raw[raw.length - 1]! ^= 1
  return {
    key,
    cert: `-----BEGIN CERTIFICATE-----\n${raw.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}
test.each([
  ['signed by itself', selfSigned],
  ['whose signature does not hold', damaged],
  ['that comes with its authority', withAuthority],
])('a certificate %s is not signed by the authority of the server', async (_, server) => {
  const { get } = await startNodes({ authority, issuer: { ...other, server } })
  expect((await get()).body).toMatchObject(unavailable('its certificate is not signed by'))
})

test.each([
  ['ETIMEDOUT', 'the connection timed out; check inspection.bindAddress'],
  ['EHOSTUNREACH', 'no route leads there; check inspection.bindAddress'],
  ['ENETUNREACH', 'no route leads there; check inspection.bindAddress'],
])('a connection that ends with %s', async (code, why) => {
  const connectNode = () => {
    const socket = new Socket()
    setImmediate(() => socket.destroy(Object.assign(new Error('connect'), { code })))
    return socket
  }
  const { get } = await startNodes({ authority, connectNode })
  expect((await get()).body).toMatchObject(unavailable(why))
})

test('a node that refuses the connection', async () => {
  const { get } = await startNodes({ authority, connectNode: () => connect(1, '127.0.0.1') })
  expect((await get()).body).toMatchObject(
    unavailable('the connection was refused; set inspection.bindAddress of its node-proxy'),
  )
})

/** Connections lead to a server that does with them what the test wants. */
async function rawNode(serve: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { connectNode: () => connect(port, '127.0.0.1') }
}

test('a node that speaks no TLS', async () => {
  const plain = await rawNode((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const { get } = await startNodes({ authority, ...plain })
  expect((await get()).body).toMatchObject(unavailable('it does not speak TLS'))
})

test('a node that resets the connection', async () => {
  const resetting = await rawNode((socket) => socket.resetAndDestroy())
  const { get } = await startNodes({ authority, ...resetting })
  expect((await get()).body).toMatchObject(unavailable('it ended the connection'))
})

test('a node that is silent after it was connected to, for five seconds', async () => {
  const clock = new FakeClock()
  const connected = Promise.withResolvers<void>()
  const silent = await rawNode((socket) => socket.once('data', () => connected.resolve()))
  const { get } = await startNodes({ authority, clock, ...silent })
  const answer = get()
  await connected.promise
  await clock.advance(5000)
  expect((await answer).body).toMatchObject(unavailable('there was no TLS connection within 5 s'))
})

test('a node that does not answer in time', async () => {
  const clock = new FakeClock()
  const arrived = Promise.withResolvers<void>()
  const handler = () => arrived.resolve()
  const { get } = await startNodes({ authority, clock, handler })
  const answer = get()
  await arrived.promise
  await clock.advance(60_000)
  expect((await answer).body).toMatchObject({
    ...unavailable('its answer did not arrive in time', 504),
    reason: 'Timeout',
  })
})

test.each([
  ['closes the connection', (socket: Socket) => socket.destroy(), 'it ended the connection'],
  ['answers with no HTTP', (socket: Socket) => socket.end('what?\r\n\r\n'), 'HPE_INVALID'],
  [
    'changes the protocol',
    (socket: Socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    '',
  ],
  [
    'answers with no status',
    (socket: Socket) => socket.end('HTTP/1.1 999 x\r\n\r\n'),
    'status 999',
  ],
])('a node that %s', async (_, act, why) => {
  const { get } = await startNodes({
    authority,
    handler: (request) => act(request.socket),
  })
  expect((await get()).body).toMatchObject(unavailable(`.*${why}`))
})

test.each([
  [401, 'it does not accept the certificate of this server \\(401\\); name a copy of pki/ca.crt'],
  [
    403,
    'it does not let user "system:orch-server-node-client" read it \\(403\\); bind the ClusterRole',
  ],
])('a node that refuses the server with %i does not send its client away', async (code, why) => {
  const { get } = await startNodes({
    authority,
    handler: (_, response) => void response.writeHead(code).end('{"code":"NP_X"}'),
  })
  expect((await get()).body).toMatchObject(unavailable(why))
})

const answering = (code: number, body: string, type = 'application/json') =>
  startNodes({
    authority,
    handler: (_, response) =>
      void response
        .writeHead(code, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
        .end(body),
  })

test.each([
  [400, 'BadRequest'],
  [404, 'NotFound'],
  [500, 'InternalError'],
  [503, 'ServiceUnavailable'],
])('an error of the node is a Status with its code: %i', async (code, reason) => {
  const error = '{"code":"NP_INSPECTION_BUSY","message":"\\u001b[2Jlater"}\n'
  const { get } = await answering(code, error)
  const { status, body } = await get()
  expect(status).toBe(code)
  expect(body).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason,
    message: 'node-proxy of node "n1":  [2Jlater (NP_INSPECTION_BUSY)',
    details: {
      name: 'n1',
      causes: [{ reason: 'NP_INSPECTION_BUSY', message: ' [2Jlater' }],
    },
  })
})

test.each([
  ['{"code":"NP_INSPECTION_BUSY","message":"later"}', 'text/plain'],
  ['{"code":"NP_X","mess', 'application/json;charset=utf-8'],
  ['{"code":"EVIL","message":"later"}', 'application/json'],
  ['{"code":"NP_X"}', 'application/json'],
  ['[]', 'application/json'],
  [`{"code":"NP_X","message":"${'x'.repeat(70_000)}"}`, 'application/json'],
])('another answer that is no success is passed on: %.40s', async (sent, type) => {
  const { get } = await answering(404, sent, type)
  const { status, text, headers } = await get()
  expect([status, text, headers['content-type']]).toEqual([404, sent, type])
})

test('an error that breaks off is none of the node', async () => {
  const { get } = await startNodes({
    authority,
    handler(request, response) {
      response.writeHead(404, { 'Content-Type': 'application/json', 'Content-Length': 50 })
      response.write('{"code":', () => request.socket.destroy())
    },
  })
  expect((await get()).body).toMatchObject(unavailable('it ended the connection'))
})

test('a server without a certificate for nodes says so', async () => {
  const { get, dialled } = await startNodes({ authority, nodeCredentials: () => undefined })
  expect((await get()).body).toMatchObject(unavailable('this server has no certificate'))
  expect(dialled).toEqual([])
})
