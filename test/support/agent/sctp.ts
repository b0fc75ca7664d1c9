import type { ConnectOutcome, ConnectRequest, Listener } from './protocol.ts'
import { socketName } from './protocol.ts'
import { openRaw, type RawSocket } from './raw-socket.ts'
import { decodeSctp, encodeInit, encodeInitAck } from './sctp-packet.ts'

const SCTP = 132
const POLL_MS = 5

/** Answers every INIT to its port. Returns a function that stops it. */
export function listenSctp({ ip, port, name }: Listener): () => void {
  const socket = openRaw(SCTP, ip)
  const timer = setInterval(() => {
    for (let packet = socket.receive(); packet !== undefined; packet = socket.receive()) {
      const init = decodeSctp(packet.payload)
      if (init?.chunk !== 'INIT' || init.destinationPort !== port) continue
      const peer = socketName(packet.from, init.sourcePort)
      socket.send(encodeInitAck(init, JSON.stringify({ name, peer })), packet.from)
    }
  }, POLL_MS)
  return () => {
    clearInterval(timer)
    socket.close()
  }
}

/** One INIT from a port of its own, up to its answer. */
export function attemptSctp(request: ConnectRequest): Promise<ConnectOutcome> {
  const sourcePort = request.sourcePort ?? 20_000 + Math.floor(Math.random() * 40_000)
  const socket = openRaw(SCTP, request.source, request.destination)
  const deadline = performance.now() + (request.timeoutMs ?? 1000)
  socket.send(encodeInit(sourcePort, request.port, 1 + sourcePort))
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const outcome =
        outcomeSoFar(socket, sourcePort) ?? (performance.now() < deadline ? undefined : SILENCE)
      if (outcome === undefined) return
      clearInterval(timer)
      socket.close()
      resolve(outcome)
    }, POLL_MS)
  })
}

const SILENCE: ConnectOutcome = { kind: 'timeout' }

function outcomeSoFar(socket: RawSocket, sourcePort: number): ConnectOutcome | undefined {
  if (socket.isRefused()) return { kind: 'refused' }
  for (let packet = socket.receive(); packet !== undefined; packet = socket.receive()) {
    const answer = decodeSctp(packet.payload)
    if (answer?.destinationPort !== sourcePort || answer.chunk !== 'INIT ACK') continue
    const said = JSON.parse(answer.words) as { name: string; peer: string }
    return { kind: 'answered', name: said.name, peer: said.peer }
  }
  return undefined
}
