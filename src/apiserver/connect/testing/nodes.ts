import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { NODE_CLIENT } from '../../../auth/user.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { type IdentityTestOptions, startIdentityApi } from '../../testing/identity-api.ts'

/** The InternalIP of the node `n1`. */
export const ADDRESS = '192.0.2.7'
export const NODE = '/api/v1/nodes/n1'
export const STATUS = `${NODE}/proxy/inspection/v1/status`

interface Issued {
  readonly cert: string
  readonly key: string
}

/** Issues certificates, PEM. */
interface Authority {
  readonly cert: string
  server(address: string): Promise<Issued>
  client(user: string): Promise<Issued>
}

/** What a node got. */
export interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  /** Common name of the certificate of its client. */
  readonly user: string
}

export interface NodesOptions extends IdentityTestOptions {
  readonly authority: Authority
  /** What the node answers. */
  readonly handler?: RequestListener
  /** Issues the certificate of the node; absent: the authority. */
  readonly issuer?: Authority
  /** What that names; absent: the address of the node. */
  readonly certified?: string
  /** Where connections to an address lead; undefined: to the node. */
  readonly instead?: (address: string) => Socket | undefined
}

/**
 * A server with the node `n1`, which answers by real TLS; connections to its address lead to the loopback, where it
 * listens.
 */
export async function startNodes({
  authority,
  handler = (_, response) => void response.end('{}'),
  issuer = authority,
  certified = ADDRESS,
  instead = () => undefined,
  ...options
}: NodesOptions) {
  const received: Received[] = []
  const dialled: string[] = []
  const tls = { ...(await issuer.server(certified)), ca: authority.cert }
  const node = createServer({ ...tls, requestCert: true, rejectUnauthorized: false }, (...both) => {
    const [{ method, url, headers, socket }] = both
    const { subject } = (socket as TLSSocket).getPeerCertificate()
    received.push({ method, url, headers, user: String(subject?.CN) })
    handler(...both)
  })
  node.listen(0, '127.0.0.1')
  await once(node, 'listening')
  onTestFinished(() => {
    node.closeAllConnections()
    node.close()
  })
  const { port } = node.address() as AddressInfo
  const credentials = { ...(await authority.client(NODE_CLIENT)), authority: authority.cert }
  const api = await startIdentityApi([{ name: 'alice' }], {
    nodeCredentials: () => credentials,
    connectNode(address, wanted) {
      dialled.push(hostPort(address, wanted))
      return instead(address) ?? connect(port, '127.0.0.1')
    },
    ...options,
  })
  await api.make('/api/v1/nodes', nodeObject('n1', ADDRESS))
  const get = (path = STATUS, token = 'root') => api.as(token, 'GET', path)
  return { api, node, received, dialled, get }
}

/** A Node with these addresses of its network. */
export function nodeObject(name: string, ...addresses: readonly string[]): JsonObject {
  const listed = addresses.map((address) => ({ type: 'InternalIP', address }))
  return { metadata: { name }, status: { addresses: listed } }
}
