import { connect } from 'node:net'
import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { LocalBackend } from './sampled-entries.ts'

type ConnectFacts = NodeFacts['connects'][number]

const TIMEOUT_MS = 1_000
/** Connections at a time. */
const AT_ONCE = 16

/** Connects to each TCP backend of this node once, as a probe of the kubelet does, and closes at once. */
export async function connectBackends(
  backends: Iterable<LocalBackend>,
): Promise<readonly ConnectFacts[]> {
  const waiting = [...backends].filter(({ entry }) => entry.protocol === 'TCP')
  const results: ConnectFacts[] = []
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { entry, backend } = next
      const { ip, port } = backend
      const answer = await answerOf(ip, port)
      results.push({ entry: entry.id, service: entry.service, ip, port, answer })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results.toSorted((a, b) => (a.entry < b.entry ? -1 : 1))
}

function answerOf(host: string, port: number): Promise<ConnectFacts['answer']> {
  const { promise, resolve } = Promise.withResolvers<ConnectFacts['answer']>()
  const socket = connect({ host, port, timeout: TIMEOUT_MS })
  const end = (answer: ConnectFacts['answer']) => () => {
    socket.destroy()
    resolve(answer)
  }
  socket.once('connect', end('accepts'))
  socket.once('timeout', end('silent'))
  socket.once('error', (error: NodeJS.ErrnoException) =>
    end(error.code === 'ECONNREFUSED' ? 'refuses' : 'silent')(),
  )
  return promise
}
