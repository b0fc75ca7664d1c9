import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { readAuthority } from '../../src/orchserver/certificates/authority.ts'
import { issueServer } from '../../src/orchserver/certificates/issue.ts'
import { newKey } from '../../src/orchserver/certificates/pem.ts'
import { nodeStatus } from '../../src/page/testing/cluster-nodes.ts'
import { entriesOf, serviceOf, statusOf, trafficOf } from '../../src/page/testing/fake-answers.ts'
import { NODE_PORT, nodeAddress, nodeName } from './node-address.ts'

/**
 * Simulates the node-proxies of a cluster in one process, with an address, a certificate and a status for each node.
 * Answers are prepared or short, so that orch-server and the page get the processor.
 */
const [, , pki = '.', nodesText = '0', servicesText = '0'] = process.argv
const [nodes, services] = [Number(nodesText), Number(servicesText)]

/** The Service that is read from all nodes. */
const FIRST = serviceOf(0).service ?? ''
const PATH = /^\/inspection\/v1\/(\w+)/

const contexts = await secureContexts()
const statuses = new Map(
  numbers().map((number) => {
    const common = { ...statusOf(services), problems: [] }
    const status = nodeStatus(common, { number, name: nodeName(number), own: {} })
    return [nodeAddress(number), JSON.stringify({ ...status, problems: [] })]
  }),
)
const list = lines(Array.from({ length: services }, (_, index) => serviceOf(index)))
const entries = lines(entriesOf(0, FIRST))

const http = createHttpServer((request, response) => {
  const { localAddress = '' } = request.socket
  const [, path = ''] = PATH.exec(request.url ?? '') ?? []
  if (path === 'status') answer(response, statuses.get(localAddress) ?? '{}', 'application/json')
  else if (path === 'services') answer(response, list)
  else if (path === 'entries') answer(response, entries)
  else if (path === 'traffic') answer(response, lines([trafficOf(0, FIRST, Date.now())]))
  else if (path === 'changes') response.writeHead(200).flushHeaders()
  else response.writeHead(404).end()
})

createServer((socket) => {
  const secureContext = contexts.get(socket.localAddress ?? '')
  if (secureContext === undefined) return void socket.destroy()
  http.emit('connection', secured(socket, secureContext))
}).listen(NODE_PORT, '0.0.0.0', 4_096, () => process.stdout.write('ready\n'))

function numbers(): readonly number[] {
  return Array.from({ length: nodes }, (_, index) => index + 1)
}

async function secureContexts(): Promise<ReadonlyMap<string, SecureContext>> {
  const { cert: ca, ...issuer } = await readAuthority(pki)
  const key = newKey()
  const made = numbers().map(async (number) => {
    const ip = nodeAddress(number)
    const cert = await issueServer({ issuer, key, names: { dns: [], ips: [ip] } }, Date.now())
    return [ip, createSecureContext({ cert, key, ca })] as const
  })
  return new Map(await Promise.all(made))
}

/** Requires the client certificate of orch-server, as a node-proxy does. */
function secured(socket: Socket, secureContext: SecureContext): TLSSocket {
  const options = { isServer: true, secureContext, requestCert: true, rejectUnauthorized: true }
  const tls = new TLSSocket(socket, options)
  for (const each of [socket, tls]) each.on('error', () => socket.destroy())
  return tls
}

function lines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}

function answer(response: ServerResponse, body: string, type = 'application/x-ndjson'): void {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}
