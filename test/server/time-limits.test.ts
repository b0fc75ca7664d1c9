import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const LIMIT_MS = 2000
/** A tenth of the limit to notice it; the rest is for a machine that has more to do. */
const LATE_MS = 15_000

const BODY = 'POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
const SILENT = [
  ['in its TLS handshake', plain, ''],
  ['behind its TLS handshake', encrypted, ''],
  ['within its headers', encrypted, 'GET /livez HTTP/1.1\r\nX-A: '],
  ['within its body', encrypted, `${BODY}{`],
  ['within its second request', encrypted, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET'],
] as const

test('clients that stop are disconnected when the request timeout is over', async ({
  annotate,
}) => {
  await using server = await startOrchServer({ flags: [`--request-timeout=${LIMIT_MS}ms`] })
  const times = await Promise.all(
    SILENT.map(async ([where, open, bytes]) => {
      const before = performance.now()
      const socket = await open(server)
      socket.write(bytes)
      return { where, ms: Math.round((await endOf(socket)) - before) }
    }),
  )
  await annotate(times.map(({ where, ms }) => `${where}: ${ms} ms`).join(', '))
  expect(times.filter(({ ms }) => ms < LIMIT_MS)).toEqual([])
  expect(times.filter(({ ms }) => ms > LIMIT_MS + LATE_MS)).toEqual([])
})

async function plain(server: OrchServerProcess): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

async function encrypted(server: OrchServerProcess): Promise<Socket> {
  const { ca, cert, key } = await server.connection.tls!.material()
  const { hostname, port } = new URL(server.url)
  const socket = connectTls({ host: hostname, port: Number(port), ca: ca!, cert: cert!, key: key! })
  await once(socket, 'secureConnect')
  return socket
}

/** When the server has ended the connection. */
async function endOf(socket: Socket): Promise<number> {
  socket.on('error', () => undefined)
  socket.resume()
  await once(socket, 'close')
  return performance.now()
}
