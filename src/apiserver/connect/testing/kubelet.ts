import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { KUBELET_CLIENT } from '../../../auth/user.ts'
import { systemClock } from '../../../lib/clock.ts'
import { hostPort } from '../../../lib/ip.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { StreamRefusal, type TerminalSize } from '../../../streams/node-streams.ts'
import { serveForwarding } from '../../../streams/port-forward.ts'
import { serveCommandOverSpdy } from '../../../streams/remote-command/serve-command.ts'
import { type IdentityTestOptions, startIdentityApi } from '../../testing/identity-api.ts'
import { PODS } from '../../testing/test-api.ts'

/** The InternalIP of the node `n1`. */
export const ADDRESS = '192.0.2.7'
const PORT = 10_250

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

export interface KubeletOptions extends IdentityTestOptions {
  readonly authority: Authority
  /** Issues the certificate of the kubelet; absent: the authority. */
  readonly issuer?: Authority
  /** Whether a certificate of no known authority is pinned; absent: yes. */
  readonly isPinning?: boolean
  /** Answers what is no stream. */
  readonly handler?: RequestListener
  /** The status of the Node in addition to its address and the port of its kubelet. */
  readonly status?: JsonObject
  /** The status with which upgrades are refused, and its text; absent: they are accepted. */
  readonly refuses?: readonly [code: number, text: string]
}

/** A request that the kubelet received. */
interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  /** Common name of the certificate of its client. */
  readonly user: string
}

/**
 * A server with the node `n1`, the Pod `web` on it, and a kubelet that serves streams by real TLS and SPDY as
 * kubelets do: commands return their input in capitals and exit with 5, ports echo. Connections to the address of the
 * node lead to the loopback, where it listens.
 */
export async function startKubelet({
  authority,
  issuer = authority,
  isPinning = true,
  handler = (_, response) => void response.end('one\ntwo\n'),
  status = {},
  refuses,
  ...options
}: KubeletOptions) {
  const received: Received[] = []
  const dialled: string[] = []
  const sizes: TerminalSize[] = []
  const tls = { ...(await issuer.server(ADDRESS)), ca: authority.cert }
  const record = ({ method, url, headers, socket }: IncomingMessage): void => {
    const { subject } = (socket as TLSSocket).getPeerCertificate()
    received.push({ method, url, headers, user: String(subject?.CN) })
  }
  const node = createServer({ ...tls, requestCert: true, rejectUnauthorized: false }, (...both) => {
    record(both[0])
    handler(...both)
  })
  node.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    record(request)
    socket.on('error', () => undefined)
    if (refuses !== undefined) {
      const [code, text] = refuses
      socket.end(`HTTP/1.1 ${code} x\r\nContent-Length: ${text.length}\r\n\r\n${text}`)
      return
    }
    const protocol = request.headers['x-stream-protocol-version']
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${String(protocol)}\r\n\r\n`,
    )
    if (request.url?.startsWith('/portForward/') === true) serveEcho(socket)
    else void serveCapitals(request.url ?? '', socket, sizes).catch(() => undefined)
  })
  node.listen(0, '127.0.0.1')
  await once(node, 'listening')
  onTestFinished(() => {
    node.closeAllConnections()
    node.close()
  })
  const { port } = node.address() as AddressInfo
  const client = await authority.client(KUBELET_CLIENT)
  const api = await startIdentityApi([{ name: 'alice' }], {
    kubelets: {
      credentials: () => ({ ...client, authority: authority.cert, isPinning }),
      addressTypes: ['InternalIP', 'ExternalIP'],
    },
    connectNode(address, wanted) {
      dialled.push(hostPort(address, wanted))
      return connect(port, '127.0.0.1')
    },
    ...options,
  })
  const addresses = [{ type: 'InternalIP', address: ADDRESS }]
  const daemonEndpoints = { kubeletEndpoint: { Port: PORT } }
  await api.make('/api/v1/nodes', {
    metadata: { name: 'n1' },
    status: { addresses, daemonEndpoints, ...status },
  })
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  const containers = ['main', 'side'].map((name) => ({ name, image: 'none' }))
  await api.make(PODS, { metadata: { name: 'web' }, spec: { nodeName: 'n1', containers } })
  return { api, received, dialled, sizes, node }
}

function serveEcho(socket: Duplex): void {
  serveForwarding(socket, {
    clock: systemClock,
    connect: async (port) => {
      if (port === 1) return new StreamRefusal('failed', 'nothing listens there')
      const [near, far] = duplexPair()
      far.pipe(far)
      return near
    },
  })
}

async function serveCapitals(url: string, socket: Duplex, sizes: TerminalSize[]): Promise<void> {
  const { searchParams: query } = new URL(url, 'https://kubelet')
  const wanted = {
    stdin: query.get('input') === '1',
    stdout: query.get('output') === '1',
    stderr: query.get('error') === '1',
    tty: query.get('tty') === '1',
  }
  const client = await serveCommandOverSpdy(socket, wanted, systemClock)
  if (client === undefined) return
  client.onResize((size) => sizes.push(size))
  if (query.get('command') === 'absent') {
    return client.finish({ problem: 'error executing command in container: no such file' })
  }
  client.stderr?.end('problem')
  for await (const chunk of client.stdin ?? []) {
    client.stdout?.write(String(chunk).toUpperCase())
  }
  await new Promise<void>((resolve) => client.stdout?.end(resolve))
  await client.finish({ exitCode: 5 })
}
