import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { newTestAuthority } from '../certificates/test-authority.ts'

/** A provider of OpenID Connect on the loopback address, with users of any name. */
export interface OidcProvider extends AsyncDisposable {
  /** `https://127.0.0.1:port` */
  readonly issuer: string
  /** The authority of its certificate, PEM. */
  readonly authority: string
  /** An ID token for the client `orch`, valid for ten minutes unless the claims say otherwise. */
  idToken(claims: JWTPayload): Promise<string>
  /** From now on it signs with another key, and publishes only that one. */
  rotate(): Promise<void>
  /** From now on it uses a certificate of another authority. @returns that authority, PEM */
  replaceCertificate(): Promise<string>
  /** Ends connections, and refuses new ones. */
  stop(): Promise<void>
  /** Starts it again at the same address. */
  start(): Promise<void>
}

interface Key {
  readonly id: string
  readonly privateKey: CryptoKey
  readonly published: JWK
}

export async function startOidcProvider(): Promise<OidcProvider> {
  const authority = await newTestAuthority('provider')
  const certificate = await authority.server()
  let key = await newKeyPair('first')
  let issuer = ''
  const server = createServer(certificate, ({ url }, response) => {
    const document = url === '/keys' ? { keys: [key.published] } : metadata(issuer)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  })
  const port = await listen(server, 0)
  issuer = `https://127.0.0.1:${port}`
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return {
    issuer,
    authority: authority.cert,
    stop,
    idToken: (claims) => {
      const now = Math.floor(Date.now() / 1000)
      const payload = { iss: issuer, aud: 'orch', iat: now, exp: now + 600, ...claims }
      const header = { alg: 'ES256', kid: key.id }
      return new SignJWT(payload).setProtectedHeader(header).sign(key.privateKey)
    },
    rotate: async () => {
      key = await newKeyPair('second')
    },
    replaceCertificate: async () => {
      const next = await newTestAuthority('next provider')
      server.setSecureContext(await next.server())
      server.closeAllConnections()
      return next.cert
    },
    start: async () => void (await listen(server, port)),
    [Symbol.asyncDispose]: stop,
  }
}

function metadata(issuer: string): object {
  return { issuer, jwks_uri: `${issuer}/keys` }
}

async function newKeyPair(id: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  return { id, privateKey, published: { ...(await exportJWK(publicKey)), kid: id, alg: 'ES256' } }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
