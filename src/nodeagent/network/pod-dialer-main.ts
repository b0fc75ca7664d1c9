import { connect, Socket } from 'node:net'
import { systemClock } from '../../lib/clock.ts'
import { StreamRefusal } from '../../streams/node-streams.ts'
import { serveForwarding } from '../../streams/port-forward.ts'

/** The file descriptor over which the node agent talks to this process. */
const CHANNEL_FD = 3

/** The addresses at which a program of the Pod may listen, the usual one first. */
const LOOPBACK = ['127.0.0.1', '::1']

/**
 * Opens connections to ports on the loopback addresses of the network namespace that it runs in; all share one
 * channel, file descriptor 3. Ends when the other end of the channel is closed.
 */
function main(): void {
  const channel = new Socket({ fd: CHANNEL_FD })
  const session = serveForwarding(channel, { connect: dial, clock: systemClock })
  void session.closed.then(() => process.exit(0))
}

async function dial(port: number): Promise<Socket | StreamRefusal> {
  let failure = ''
  for (const host of LOOPBACK) {
    const connected = await connectTo(host, port)
    if (typeof connected !== 'string') return connected
    failure ||= connected
  }
  return new StreamRefusal('failed', `no connection to port ${port} of the pod: ${failure}`)
}

function connectTo(host: string, port: number): Promise<Socket | string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true })
    const fail = ({ message }: Error): void => resolve(message)
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.off('error', fail)
      resolve(socket)
    })
  })
}

main()
