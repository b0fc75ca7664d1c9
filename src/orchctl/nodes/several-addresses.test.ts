import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { anonymous } from '../../client/connection/credential/credential.ts'
import { certificates } from '../../client/testing/test-certificates.ts'
import type { CommandContext } from '../session/command-module.ts'
import { internalAddresses } from './node-inspection.ts'
import { readNodes } from './read-nodes.ts'

/** The only address that the certificate of the node names. */
const NAMED = '127.0.0.1'

const material = async () => ({ ca: certificates.ca, cert: undefined, key: undefined })
const tls = { material, serverName: undefined, insecureSkipVerify: false }
const connection = {
  origin: 'https://unused',
  basePath: '',
  source: 'a test',
  credentials: anonymous,
  tls,
}
const context = {
  session: async () => ({ connection, impersonation: undefined }),
  notice: () => undefined,
  host: { version: '1' },
} as unknown as CommandContext

const nodeAt = (...addresses: readonly string[]) => ({
  metadata: { name: 'n1' },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
})

async function listen(server: Server, port: number, host: string) {
  const sockets: Socket[] = []
  server.on('connection', (socket) => void sockets.push(socket))
  server.listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { sockets, port: (server.address() as AddressInfo).port }
}

/** A node-proxy that listens at `host`, the `sockets` of its connections, and the Host of each request. */
async function startNode(
  host: string,
  handler: RequestListener = (_, response) => response.end('{}'),
) {
  const hosts: (string | undefined)[] = []
  const server = createTlsServer(certificates.server, (request, response) => {
    hosts.push(request.headers.host)
    handler(request, response)
  })
  const { port, sockets } = await listen(server, 0, host)
  const read = async (...addresses: readonly string[]) => {
    const options = { path: '/', inspectionPort: String(port) }
    const [answer] = await readNodes([nodeAt(...addresses)], context, options)
    return answer?.result
  }
  return { port, sockets, hosts, read }
}

test('the next InternalIP is tried where the connection is refused, and gets the request once', async () => {
  const { read, hosts, sockets, port } = await startNode(NAMED)
  expect(await read('127.0.0.2', NAMED)).toEqual({ ok: true, body: {} })
  expect(hosts).toEqual([`${NAMED}:${port}`])
  expect(sockets).toHaveLength(1)
})

test('one whose certificate does not name it gets no request', async () => {
  const { read, hosts, port } = await startNode('0.0.0.0')
  expect(await read('127.0.0.2', NAMED)).toEqual({ ok: true, body: {} })
  expect(hosts).toEqual([`${NAMED}:${port}`])
})

test('beside a silent one the next is tried, and its connection ends', async () => {
  const { read, port } = await startNode(NAMED)
  const silent = await listen(
    createServer((socket) => void socket.resume()),
    port,
    '127.0.0.2',
  )
  expect(await read('127.0.0.2', NAMED)).toEqual({ ok: true, body: {} })
  await expect.poll(() => silent.sockets.map(({ destroyed }) => destroyed)).toEqual([true])
})

test('every address that was tried is named with its reason, and each remedy once', async () => {
  const { read, port } = await startNode('127.0.0.3')
  const at = (address: string) => `https://${address}:${port}`
  expect(await read('127.0.0.2', '127.0.0.3', '127.0.0.4')).toMatchObject({
    ok: false,
    error: {
      code: 'NP_ORCHCTL_NODE_UNREACHABLE',
      message: [
        'the node-proxy of node "n1" cannot be read',
        `: ${at('127.0.0.2')} refuses connections: ECONNREFUSED`,
        `; TLS with ${at('127.0.0.3')} failed: ERR_TLS_CERT_ALTNAME_INVALID`,
        `; ${at('127.0.0.4')} refuses connections: ECONNREFUSED`,
      ].join(''),
      hint: expect.stringMatching(
        /^set inspection.bindAddress[^;]*; give the authority[^;]*; the.* of the node$/,
      ),
    },
  })
})

test('after a request was sent no other address gets it', async () => {
  const { read, hosts, sockets, port } = await startNode(
    NAMED,
    ({ socket }) => void socket.destroy(),
  )
  const message = expect.stringMatching(
    /127\.0\.0\.2:\d+ refuses.*; .*127\.0\.0\.1:\d+ closed the connection/,
  )
  expect(await read('127.0.0.2', NAMED, '127.0.0.3')).toMatchObject({ error: { message } })
  expect(hosts).toEqual([`${NAMED}:${port}`])
  expect(sockets).toHaveLength(1)
})

test('four addresses are enough, each once', () => {
  const many = Array.from({ length: 9 }, (_, at) => `192.0.2.${at}`)
  expect(internalAddresses(nodeAt('x', 'FD00:0::7', 'fd00::7', ...many))).toEqual([
    'fd00::7',
    ...many.slice(0, 3),
  ])
})
