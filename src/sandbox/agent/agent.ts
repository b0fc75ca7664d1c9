import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { NodeProxyError } from '../../lib/error.ts'
import type { Namespace } from '../network/namespace.ts'

const PROGRAM = new URL('./main.ts', import.meta.url).pathname

/** Where an agent runs. */
export type AgentPlace = Pick<Namespace, 'name' | 'inside'>

/** The sandbox's handle of a running agent. */
export interface Agent {
  readonly pid: number
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>
  /** Never rejects: an agent that ended answers `failed`. */
  send(request: RequestSpec): Promise<Answer>
  /** Sends SIGKILL, and waits for the end. */
  kill(): Promise<void>
}

/** Starts an agent in a namespace; resolves when it accepts requests. */
export async function startAgent(namespace: AgentPlace): Promise<Agent> {
  const command = namespace.inside([process.execPath, PROGRAM])
  const [program = '', ...args] = command
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const ready = Promise.withResolvers<void>()
  const waiting = new Map<number, (answer: Answer) => void>()
  let serial = 0
  child.stdin.on('error', () => undefined)
  child.once('error', (error) => ready.reject(broken(namespace, error.message)))
  createInterface({ input: child.stdout }).on('line', (line) => {
    const reply = JSON.parse(line) as AgentReply
    if ('ready' in reply) return ready.resolve()
    waiting.get(reply.id)?.(reply.answer)
    waiting.delete(reply.id)
  })
  void ended.then(() => {
    ready.reject(broken(namespace, 'it ended at once'))
    for (const settle of waiting.values()) settle(GONE)
    waiting.clear()
  })
  await ready.promise
  return {
    pid: child.pid ?? 0,
    ended,
    send: (request) =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve(GONE)
        const id = ++serial
        waiting.set(id, resolve)
        child.stdin.write(`${JSON.stringify({ id, request })}\n`)
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const GONE: Answer = { kind: 'failed', ms: 0, code: 'the sender is gone' }

function broken({ name }: AgentPlace, how: string): NodeProxyError {
  return new NodeProxyError('NP_SANDBOX_AGENT', `the helper process in ${name} failed: ${how}`, {
    object: name,
  })
}

/** One HTTP request, sent from inside an agent's namespace on a connection of its own. */
export interface RequestSpec {
  readonly url: string
  /** Source address, when the namespace has several. */
  readonly from?: string
  /** Whether the request is sent as the account of the Pod, with the token and the authority in the Pod's files. */
  readonly asAccount?: boolean
  /** Milliseconds after which the request is given up if its response is not complete. */
  readonly timeoutMs: number
}

/**
 * The outcome of a request. `refused`: RST, or ICMP port unreachable, at once.
 * `silent`: nothing at all. `failed`: any other error, with the system's code.
 */
export type Answer =
  | ({
      readonly kind: 'answered'
      readonly ms: number
      readonly status: number
      readonly body: string
      /** The address that answered: that of the name in the URL. */
      readonly address: string
    } & Repeats)
  | { readonly kind: 'refused' | 'silent'; readonly ms: number }
  | { readonly kind: 'failed'; readonly ms: number; readonly code: string }

/** Parent to agent, one JSON line each. */
export interface AgentRequest {
  readonly id: number
  readonly request: RequestSpec
}

/** Agent to parent. The first line of all is `ready`. */
export type AgentReply = { readonly ready: true } | { readonly id: number; readonly answer: Answer }

/** Why the first packet of a connection was sent again, and how often. */
export interface Repeats {
  /** How often nothing answered the SYN. */
  readonly lost: number
  /**
   * How often the other end took the SYN for a packet of an older connection that it held in TIME_WAIT, and answered
   * with an acknowledgement of that connection. The kernel then sent a reset, which ends the TIME_WAIT, and the SYN
   * again.
   */
  readonly metTimeWait: number
}
