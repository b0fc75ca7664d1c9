import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, NODE_PORT } from './addresses.ts'

/** What the client's process is to do; the clients take turns. */
export interface LoadOrder {
  readonly clients: readonly Client[]
  readonly perSecond: number
  readonly seconds: number
  /** Whether bind(2) chooses the source port, before the destination is known. */
  readonly binds: boolean
}

/** What became of the connections. */
export interface LoadReport {
  readonly connections: number
  readonly failures: number
  /** Connected only after 0.9 seconds: a second SYN by the timer of the first one. */
  readonly waits: number
}

const WAIT_MS = 900
const TIMEOUT_MS = 20_000
const TICK_MS = 5

if (process.argv[2] !== undefined) {
  const report = await perform(JSON.parse(process.argv[2]) as LoadOrder)
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

/** Connects at an even rate, whatever becomes of the connections before. */
async function perform({ clients, perSecond, seconds, binds }: LoadOrder): Promise<LoadReport> {
  const ms: number[] = []
  const open: Promise<void>[] = []
  let failures = 0
  const total = perSecond * seconds
  const began = performance.now()
  for (let sent = 0; sent < total; await delay(TICK_MS)) {
    const due = Math.min(total, ((performance.now() - began) / 1_000) * perSecond)
    for (; sent < due; sent++) {
      const client = clients[sent % clients.length]
      if (client === undefined) continue
      const one = exchange(client, binds, (took) => ms.push(took))
      open.push(one.catch(() => void failures++))
    }
  }
  await Promise.all(open)
  return { connections: total, failures, waits: ms.filter((took) => took >= WAIT_MS).length }
}

/** The server closes first, so its side keeps the TIME_WAIT. */
function exchange(
  { source, node }: Client,
  binds: boolean,
  onConnect: (ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    const bound = binds ? { localAddress: source } : {}
    const socket = connect({ host: node, port: NODE_PORT, ...bound })
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('timeout')))
    socket.once('connect', () => onConnect(performance.now() - began))
    socket.once('error', reject)
    socket.once('close', resolve)
    socket.resume()
  })
}
