import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { messageOf, NodeProxyError, systemCode } from '../lib/error.ts'
import { hostPort } from '../lib/ip.ts'
import { MAX_PORT } from '../lib/port-range.ts'
import { quote } from '../lib/quote.ts'
import { podsOf } from './discovery/pods-of.ts'
import { formatAmong } from './output/output-format.ts'
import { PodConnection } from './pod-connection.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'

/** The second one may be missing on a machine without IPv6. */
const LOCALHOST = ['127.0.0.1', '::1'] as const

/** Errors of listening where no interface has an IPv6 address, and where the kernel has no IPv6. */
const WITHOUT_IPV6: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

const ABOUT = `
LOCAL is a port of this machine. With 0, with :REMOTE and with a name alone, a free port is
chosen. REMOTE is the number or name of a port: of the Service if a Service is named, otherwise
of the Pod. With a Service or another object that selects Pods, new connections go to another
ready Pod when the present one is gone.

Examples:
  orchctl port-forward pod/web 8080
  orchctl port-forward service/web 8080:http :metrics
`

interface PortForwardFlags {
  readonly address: string
  readonly output?: string
}

/** `orchctl port-forward`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<operands...>', 'POD or TYPE/NAME, then [LOCAL:]REMOTE ...')
    .option('--address <list>', 'addresses of this machine to listen on', 'localhost')
    .option('-o, --output <format>', 'json: a line for each address and port that listens')
    .addHelpText('after', ABOUT)
  runs(command, context, portForward)
}

const portForward: Run<PortForwardFlags> = async (
  [operand = '', ...texts],
  { address, output },
  context,
) => {
  const format = formatAmong(output, 'json')
  const ports = parsePorts(texts)
  await using held = new AsyncDisposableStack()
  const pods = await podsOf(operand, context)
  const connection = new PodConnection(pods, context)
  held.defer(() => connection.close())
  // The first connection is opened at once, so that a wrong name or a missing permission ends the command here.
  await connection.open()
  const remotes = ports.map(({ remote }) => connection.portOf(remote))
  const listeners = await listenAll(address, ports)
  held.defer(async () => {
    await Promise.all(listeners.map((listener) => listener.close()))
  })
  for (const listener of listeners) {
    const remote = remotes[listener.index]!
    context.print(readiness(listener, remote, format))
    listener.server.on('connection', (socket) => {
      context.notice(`Handling connection for ${listener.port}`)
      void relay(socket, { connection, remote: ports[listener.index]!.remote, context })
    })
  }
  return await over(connection, context)
}

function readiness({ ip, port }: Listener, remote: number, format: 'json' | undefined): string {
  if (format === 'json') {
    return `${JSON.stringify({ address: ip, port, remotePort: remote })}\n`
  }
  return `Forwarding from ${hostPort(ip, port)} -> ${remote}\n`
}

/** Resolves when the user interrupts the program, or the only Pod is gone. */
async function over(connection: PodConnection, { host }: CommandContext): Promise<ExitCode> {
  const interrupted = new Promise<ExitCode>((resolve) => {
    if (host.signal.aborted) resolve(0)
    host.signal.addEventListener('abort', () => resolve(0), { once: true })
  })
  return Promise.race([interrupted, connection.lost])
}

interface RelayOptions {
  readonly connection: PodConnection
  /** The number or name of the port. */
  readonly remote: string
  readonly context: CommandContext
}

/** Connects a client of this machine with a port of the Pod, until both have ended. */
async function relay(client: Socket, { connection, remote, context }: RelayOptions): Promise<void> {
  client.on('error', () => undefined)
  const end = (): void => void client.destroy()
  context.host.signal.addEventListener('abort', end, { once: true })
  try {
    const pod = await connection.connect(remote)
    await join(client, pod)
  } catch (error) {
    client.resetAndDestroy()
    if (!context.host.signal.aborted) context.notice(`port ${remote}: ${messageOf(error)}`)
  } finally {
    context.host.signal.removeEventListener('abort', end)
  }
}

/**
 * Each direction ends on its own. Where one side breaks off, both end, the client by a reset if it was the Pod's. Rejects
 * unless it was the client's.
 */
export async function join(client: Socket, pod: Duplex): Promise<void> {
  let brokenBy: 'client' | 'pod' | undefined
  const ofClient = (): void => {
    if (!client.readableEnded) brokenBy ??= 'client'
  }
  // Before the pipelines, which would end the client as if the Pod had sent everything.
  const ofPod = (): void => {
    if (pod.readableEnded) return
    brokenBy ??= 'pod'
    if (brokenBy === 'pod') client.resetAndDestroy()
  }
  for (const event of ['error', 'close'] as const) {
    client.once(event, ofClient)
    pod.once(event, ofPod)
  }
  const directions = [pipeline(client, pod), pipeline(pod, client)]
  try {
    await Promise.all(directions)
  } catch (error) {
    pod.destroy()
    await Promise.allSettled(directions)
    if (brokenBy !== 'client') throw error
  }
}

/** A port of this machine that listens. */
interface Listener {
  readonly server: Server
  readonly ip: string
  readonly port: number
  /** The position of its pair of ports on the command line. */
  readonly index: number
  close(): Promise<void>
}

/** Listens for every pair on every address. @throws NP_ORCHCTL_LISTEN, NP_ORCHCTL_USAGE; nothing listens then */
async function listenAll(
  addresses: string,
  ports: readonly PortPair[],
): Promise<readonly Listener[]> {
  const named = addresses.split(',').flatMap((one) => (one === 'localhost' ? LOCALHOST : [one]))
  const ips = [...new Set(named)]
  const wrong = ips.find((ip) => isIP(ip) === 0)
  if (wrong !== undefined) {
    throw usageError(`--address ${quote(wrong)} is no IP address`, 'write localhost or addresses')
  }
  await using opening = new AsyncDisposableStack()
  const listeners: Listener[] = []
  for (const [index, { local }] of ports.entries()) {
    let port = local
    for (const ip of ips) {
      const server = await listen(ip, port)
      if (server === undefined) continue
      // With port 0, the port that the first address gets is used for all addresses.
      ;({ port } = server.address() as AddressInfo)
      const close = (): Promise<void> => closed(server)
      opening.defer(close)
      listeners.push({ server, ip, port, index, close })
    }
  }
  opening.move()
  return listeners
}

/** Undefined: this machine has no IPv6 loopback address. */
async function listen(ip: string, port: number): Promise<Server | undefined> {
  // Clients that have sent everything still get what comes back.
  const server = createServer({ allowHalfOpen: true, noDelay: true })
  try {
    server.listen({ host: ip, port, ipv6Only: true })
    await once(server, 'listening')
    return server
  } catch (cause) {
    const code = systemCode(cause)
    if (ip === '::1' && WITHOUT_IPV6.has(code)) return undefined
    const hint = 'choose another local port, or 0 for any free one'
    const message = `cannot listen on ${hostPort(ip, port)}: ${code}`
    throw new NodeProxyError('NP_ORCHCTL_LISTEN', message, { cause, hint })
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

/** A port of this machine, and a port of the Pod or Service. */
interface PortPair {
  /** 0: any free one. */
  readonly local: number
  /** A number, or the name of a port. */
  readonly remote: string
}

/** Reads `8080`, `8080:80`, `:80`, `0:http`. A name alone gets any free port. @throws NP_ORCHCTL_USAGE */
function parsePorts(texts: readonly string[]): readonly PortPair[] {
  if (texts.length === 0) throw usageError('a port is missing', 'write for example 8080:80')
  return texts.map(parsePair)
}

function parsePair(text: string): PortPair {
  const [first = '', second, ...rest] = text.split(':')
  const remote = second ?? first
  const isNumber = /^\d+$/.test(remote)
  const local = second === undefined ? (isNumber ? first : '0') : first || '0'
  if (rest.length > 0 || !isRemote(remote) || !isPort(local, 0)) {
    throw usageError(`${quote(text)} is no pair of ports`, 'write 8080, 8080:80, :80 or 8080:http')
  }
  return { local: Number(local), remote }
}

function isRemote(text: string): boolean {
  return /^\d+$/.test(text) ? isPort(text, 1) : /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
}

function isPort(text: string, least: number): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= least && Number(text) <= MAX_PORT
}
