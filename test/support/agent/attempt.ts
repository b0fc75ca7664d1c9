import { createSocket } from 'node:dgram'
import { connect, type Socket } from 'node:net'
import type { ConnectOutcome, ConnectRequest } from './protocol.ts'

/** One connection or datagram, from its start to its outcome. Never throws. */
export async function attempt(request: ConnectRequest): Promise<ConnectOutcome> {
  if (request.protocol === 'UDP') return attemptUdp(request)
  if (request.protocol === 'SCTP') return (await import('./sctp.ts')).attemptSctp(request)
  return attemptTcp(request).then(({ socket, outcome }) => {
    abandon(socket)
    return outcome
  })
}

/** A reset frees the port at once; before the handshake there is nothing to reset. */
function abandon(socket: Socket): void {
  if (socket.connecting) socket.destroy()
  else socket.resetAndDestroy()
}

/** A TCP connection up to the listener's first line; the socket stays open. */
export function attemptTcp(
  request: ConnectRequest,
): Promise<{ readonly socket: Socket; readonly outcome: ConnectOutcome }> {
  return new Promise((resolve) => {
    let heard = ''
    let connected = false
    const socket = connect({
      host: request.destination,
      port: request.port,
      localAddress: request.source,
      ...(request.sourcePort === undefined ? {} : { localPort: request.sourcePort }),
      autoSelectFamily: false,
    })
    const settle = (outcome: ConnectOutcome): void => {
      cancel()
      socket.removeAllListeners('data')
      resolve({ socket, outcome })
    }
    const cancel = afterAnswers(request.timeoutMs ?? 1000, () =>
      settle({ kind: connected ? 'mute' : 'timeout' }),
    )
    socket.on('connect', () => {
      connected = true
    })
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString()
      if (heard.includes('\n')) settle(heardFrom(heard))
    })
    socket.on('error', (error: NodeJS.ErrnoException) => settle(outcomeOf(error)))
    socket.on('close', () => settle({ kind: connected ? 'mute' : 'timeout' }))
  })
}

function attemptUdp(request: ConnectRequest): Promise<ConnectOutcome> {
  return new Promise((resolve) => {
    const socket = createSocket({ type: request.destination.includes(':') ? 'udp6' : 'udp4' })
    const settle = (outcome: ConnectOutcome): void => {
      cancel()
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.close()
      resolve(outcome)
    }
    const cancel = afterAnswers(request.timeoutMs ?? 1000, () => settle({ kind: 'timeout' }))
    socket.on('error', (error: NodeJS.ErrnoException) => settle(outcomeOf(error)))
    socket.on('message', (text) => settle(heardFrom(text.toString())))
    socket.bind(request.sourcePort ?? 0, request.source, () => {
      socket.connect(request.port, request.destination, () => {
        socket.send('who are you?\n')
      })
    })
  })
}

/**
 * Runs `late` after `timeoutMs`, but not before the answers that have arrived by then are handled. After a long pause
 * of the process, a plain timer would run before them. Returns a function that cancels it.
 */
export function afterAnswers(timeoutMs: number, late: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    immediate = setImmediate(late)
  }, timeoutMs)
  return () => {
    clearTimeout(timer)
    clearImmediate(immediate)
  }
}

function heardFrom(text: string): ConnectOutcome {
  try {
    const said: unknown = JSON.parse(text.slice(0, text.indexOf('\n')))
    if (isAnswer(said)) return { kind: 'answered', name: said.name, peer: said.peer }
  } catch {
    return { kind: 'mute' }
  }
  return { kind: 'mute' }
}

function isAnswer(said: unknown): said is { name: string; peer: string } {
  return typeof said === 'object' && said !== null && 'name' in said && 'peer' in said
}

function outcomeOf(error: NodeJS.ErrnoException): ConnectOutcome {
  if (error.code === 'ECONNREFUSED') return { kind: 'refused' }
  if (error.code === 'ETIMEDOUT') return { kind: 'timeout' }
  return { kind: 'failed', code: error.code ?? error.message }
}
