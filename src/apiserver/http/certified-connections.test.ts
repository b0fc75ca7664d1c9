import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect, type TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { issueAuthority, issueClient, issueServer } from '../../orchserver/certificates/issue.ts'
import { newKey } from '../../orchserver/certificates/pem.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { PODS } from '../testing/test-api.ts'

const now = Date.now()
const HOUR = 3_600_000

async function newAuthority(name: string, key = newKey()) {
  const issuer = { subject: `CN=${name}`, key }
  return { issuer, cert: await issueAuthority(issuer, now) }
}

const [ours, partner] = [await newAuthority('ours'), await newAuthority('partner')]

/** A server that accepts the clients of both authorities. */
async function startTls() {
  const key = newKey()
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  const cert = await issueServer({ issuer: ours.issuer, key, names }, now)
  const api = await startIdentityApi()
  const clientAuthorities = ours.cert + partner.cert
  return api.server.listen({ tls: { cert, key }, clientAuthorities })
}

interface Answered {
  readonly status: number
  readonly socket: TLSSocket
}

async function adminCertificate({ issuer }: typeof ours) {
  const key = newKey()
  const groups = ['system:masters']
  return { key, cert: await issueClient({ issuer, key, user: 'root', groups, life: HOUR }, now) }
}

/** An administrator with a certificate, whose agent keeps one connection and its TLS session. */
async function adminOf(authority: typeof ours, port: number) {
  const { cert, key } = await adminCertificate(authority)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const options = { host: '127.0.0.1', port, ca: ours.cert, cert, key, agent }
  return (): Promise<Answered> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answered>()
    request({ ...options, path: PODS }, (response) => {
      const socket = response.socket as TLSSocket
      const { statusCode: status = 0 } = response
      text(response).then(() => resolve({ status, socket }), reject)
    })
      .on('error', reject)
      .end()
    return promise
  }
}

async function withAdmins() {
  const listener = await startTls()
  const { port } = listener
  return {
    listener,
    ourAdmin: await adminOf(ours, port),
    partnerAdmin: await adminOf(partner, port),
  }
}

test('an authority that is removed ends the connections of its clients, and no others', async () => {
  const { listener, ourAdmin, partnerAdmin } = await withAdmins()
  const { socket: kept } = await ourAdmin()
  const { status, socket } = await partnerAdmin()
  expect(status).toBe(200)
  listener.replaceClientAuthorities(ours.cert)
  await once(socket, 'close')
  // Its session of TLS is offered again, and not resumed.
  const again = await partnerAdmin()
  expect([again.status, again.socket.isSessionReused()]).toEqual([401, false])
  expect(await ourAdmin()).toEqual({ status: 200, socket: kept })
})

test('an authority whose certificate is renewed keeps the connections of its clients', async () => {
  const { listener, partnerAdmin } = await withAdmins()
  const { socket } = await partnerAdmin()
  const renewed = await newAuthority('partner', partner.issuer.key)
  listener.replaceClientAuthorities(ours.cert + renewed.cert)
  expect(await partnerAdmin()).toEqual({ status: 200, socket })
})

test('an authority of the same name is another one', async () => {
  const { listener, partnerAdmin } = await withAdmins()
  const { socket } = await partnerAdmin()
  const impostor = await newAuthority('partner')
  listener.replaceClientAuthorities(ours.cert + impostor.cert)
  await once(socket, 'close')
  expect((await partnerAdmin()).status).toBe(401)
})

test('a connection that began before its authority was removed, and its handshake after, is ended', async () => {
  const listener = await startTls()
  const raw = connectTcp({ host: '127.0.0.1', port: listener.port })
  onTestFinished(() => void raw.destroy())
  await once(raw, 'connect')
  const other = connect({ host: '127.0.0.1', port: listener.port, ca: ours.cert })
  await once(other, 'secureConnect')
  other.destroy()
  listener.replaceClientAuthorities(ours.cert)
  const socket = connect({ socket: raw, ca: ours.cert, ...(await adminCertificate(partner)) })
  socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const answer = await text(socket).catch(() => '')
  expect(answer).not.toMatch(/^HTTP\/1.1 200 /)
})

test('connections without a certificate stay', async () => {
  const { listener } = await withAdmins()
  const socket = connect({ host: '127.0.0.1', port: listener.port, ca: ours.cert })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  listener.replaceClientAuthorities(ours.cert)
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 /)
})
