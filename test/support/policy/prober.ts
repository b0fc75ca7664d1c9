import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { ProbeRoute } from './universe.ts'

/** How a probe ended. */
export const OUTCOME = {
  /** Nothing came back, and nothing is known to have arrived. */
  silent: 0,
  /** The Pod answered, from the address that was addressed. */
  answered: 1,
  /** A reset, or an ICMP error. */
  refused: 2,
  /** Another Pod answered, or from another address. */
  other: 3,
  /** Connected, but nobody said its name. */
  mute: 4,
  /** Arrived, but no answer came back. */
  arrived: 5,
  failed: 6,
} as const
export type ProbeAnswer = (typeof OUTCOME)[keyof typeof OUTCOME]

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(OUTCOME).map(([name, code]) => [code, name]),
)

/** The name of an outcome, for messages. */
export function outcomeName(code: number | undefined): string {
  return (code === undefined ? undefined : NAMES.get(code)) ?? `unknown outcome ${code}`
}

export interface ProbeSettings {
  /** The network namespace of each Pod, by `namespace/name`. */
  readonly namespaces: Readonly<Record<string, string>>
  /** A server of the node, which every Pod reaches whatever policies say; one address of each family. */
  readonly control: {
    readonly namespace: string
    readonly ips: readonly [v4: string, v6: string]
    readonly port: number
  }
}

export interface RoundRequest {
  readonly ways: readonly ProbeRoute[]
  /** 1 for each probe of `allProbes(ways)` that is expected to be answered, 0 for the others. */
  readonly expected: Uint8Array
}

/** What was tried, in the order of `allProbes(ways)`. */
export interface Round {
  readonly outcomes: Uint8Array
  /** What was heard from others than expected, by the number of the probe. */
  readonly heard: ReadonlyMap<number, string>
}

export type RoundReply = Round | { readonly error: string }

/** Sends real packets for all probes at once, from the Pods' own namespaces. */
export interface Prober {
  /** Throws if the lab itself does not work. */
  run(request: RoundRequest): Promise<Round>
  /** Closes every socket: Node does not know them, and they would keep the namespaces. */
  close(): Promise<void>
}

const PROGRAM = new URL('probe-thread.ts', import.meta.url)

/** Starts the servers of all Pods. */
export async function startProber(settings: ProbeSettings): Promise<Prober> {
  const worker = new Worker(PROGRAM, {
    workerData: settings,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const waiting: { resolve(message: unknown): void; reject(error: Error): void }[] = []
  const fail = (error: Error): void => {
    for (const waiter of waiting.splice(0)) waiter.reject(error)
  }
  worker.on('message', (message) => waiting.shift()?.resolve(message))
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('the prober ended')))
  const next = <T>(): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
    })
  await next<'ready'>()
  return {
    async run(request) {
      const replied = next<RoundReply>()
      worker.postMessage(request)
      const reply = await replied
      if ('error' in reply) throw new Error(reply.error)
      return reply
    },
    async close() {
      const ended = once(worker, 'exit')
      worker.postMessage('end')
      await ended
    },
  }
}
