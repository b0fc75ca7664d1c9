import type { Command } from 'commander'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { podsOf } from '../pods/pods-of.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { type Listener, listenAll } from './listen-all.ts'
import { parsePorts } from './parse-ports.ts'
import { PodConnection } from './pod-connection.ts'
import { relay } from './relay.ts'

const ABOUT = `
LOCAL is a port of this machine, 0 or none (:REMOTE) any free one. REMOTE is a number or a
name: of a Service one of its ports, else one of the Pod. Behind a Service or another object
that selects Pods, new connections go on to another ready Pod when one is gone.

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
  runs<PortForwardFlags>(command, context, portForward)
}

async function portForward(
  [operand = '', ...texts]: readonly string[],
  { address, output }: PortForwardFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (output !== undefined && output !== 'json') throw usageError('-o takes json only')
  const ports = parsePorts(texts)
  await using held = new AsyncDisposableStack()
  const pods = await podsOf(operand, context)
  const connection = new PodConnection(pods, context)
  held.defer(() => connection.close())
  // The first connection is opened at once, so that a wrong name or a missing right ends the command here.
  await connection.open()
  const remotes = ports.map(({ remote }) => connection.portOf(remote))
  const listeners = await listenAll(address, ports)
  held.defer(async () => {
    await Promise.all(listeners.map((listener) => listener.close()))
  })
  for (const listener of listeners) {
    const remote = remotes[listener.index]!
    context.print(readiness(listener, remote, output))
    listener.server.on('connection', (socket) => {
      context.notice(`Handling connection for ${listener.port}`)
      void relay(socket, { connection, remote: ports[listener.index]!.remote, context })
    })
  }
  return await over(connection, context)
}

function readiness({ ip, port }: Listener, remote: number, output: string | undefined): string {
  if (output === 'json') {
    return `${JSON.stringify({ address: ip, port, remotePort: remote })}\n`
  }
  return `Forwarding from ${ip.includes(':') ? `[${ip}]` : ip}:${port} -> ${remote}\n`
}

/** Resolves when the user interrupts the program, or the only Pod is gone. */
async function over(connection: PodConnection, { host }: CommandContext): Promise<ExitCode> {
  const interrupted = new Promise<ExitCode>((resolve) => {
    if (host.signal.aborted) resolve(0)
    host.signal.addEventListener('abort', () => resolve(0), { once: true })
  })
  return Promise.race([interrupted, connection.lost])
}
