import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { systemClock } from '../../lib/clock.ts'
import { request as httpRequest } from '../../lib/http/node-http.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import type { Namespace } from '../system/namespace.ts'

const PROGRAM = new URL('./probe-main.ts', import.meta.url).pathname

type Child = ChildProcessByStdio<Writable, Readable, null>

/** Probes Pods over the network, by a process in the node's network namespace. */
export class Prober {
  readonly #namespace: Namespace
  readonly #waiting = new Map<number, (outcome: ProbeResult) => void>()
  #child: Child | undefined
  #serial = 0

  constructor(namespace: Namespace) {
    this.#namespace = namespace
  }

  /** Never rejects: when the process ends, its open probes are `unknown`, and the next probe starts a new process. */
  probe(target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
    const child = (this.#child ??= this.#start())
    const id = ++this.#serial
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      // Without a process there may be no streams either, and its error ends the probe.
      if (child.pid === undefined) return
      child.stdin.write(`${JSON.stringify({ id, target, timeoutMs })}\n`)
    })
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    const closed = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await closed
  }

  #start(): Child {
    const command = this.#namespace.inside([process.execPath, PROGRAM])
    const [program = '', ...args] = command
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
    const end = (): void => {
      if (this.#child !== child) return
      this.#child = undefined
      const lost = [...this.#waiting.values()]
      this.#waiting.clear()
      for (const settle of lost) settle({ outcome: 'unknown', message: 'the prober has ended' })
    }
    child.once('error', end)
    child.once('close', end)
    if (child.pid === undefined) return child
    child.stdin.on('error', () => undefined)
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, outcome, message } = JSON.parse(line) as ProbeReply
      this.#waiting.get(id)?.({ outcome, message })
      this.#waiting.delete(id)
    })
    return child
  }
}

/** What a probe over the network connects to, on a connection of its own. */
export type ProbeTarget =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | {
      readonly kind: 'http'
      readonly host: string
      readonly port: number
      readonly isSecure: boolean
      readonly path: string
      readonly headers: readonly (readonly [name: string, value: string])[]
    }

/** Parent to prober, one JSON line each. */
export interface ProbeRequest {
  readonly id: number
  readonly target: ProbeTarget
  readonly timeoutMs: number
}

/** Prober to parent, in the order in which results arrive. */
interface ProbeReply extends ProbeResult {
  readonly id: number
}

/**
 * Runs one probe; a failure of any kind is a result. A TCP connection passes when it is
 * accepted, an HTTP request when the status is 200 to 399; a redirect is not
 * followed, a certificate is not checked, a body is not read.
 */
export function runProbe(target: ProbeTarget, timeoutMs: number): Promise<ProbeResult> {
  const { promise, resolve } = Promise.withResolvers<ProbeResult>()
  const late = new AbortController()
  const settle = (fault: string): void => {
    cancel()
    resolve(fault === '' ? { outcome: 'pass', message: '' } : { outcome: 'fail', message: fault })
  }
  const cancel = systemClock.after(timeoutMs, () => {
    settle(`no answer within ${timeoutMs / 1000} s`)
    late.abort()
  })
  try {
    if (target.kind === 'tcp') probeTcp(target, late.signal, settle)
    else probeHttp(target, late.signal, settle)
  } catch (error) {
    settle(String(error))
  }
  return promise
}

type Settle = (fault: string) => void

function probeTcp({ host, port }: ProbeTarget, signal: AbortSignal, settle: Settle): void {
  const socket = connect({ host, port })
  signal.addEventListener('abort', () => socket.destroy())
  socket.on('error', ({ message }) => settle(message))
  socket.on('connect', () => {
    settle('')
    socket.destroy()
  })
}

function probeHttp(
  { host, port, isSecure, path, headers }: Extract<ProbeTarget, { readonly kind: 'http' }>,
  signal: AbortSignal,
  settle: Settle,
): void {
  const given = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
  const options: RequestOptions = {
    host,
    port,
    path,
    signal,
    agent: false,
    headers: { 'user-agent': 'node-agent-probe', ...given, connection: 'close' },
  }
  const sent = isSecure
    ? httpsRequest({ ...options, rejectUnauthorized: false })
    : httpRequest(options)
  sent.on('error', ({ message }) => settle(message))
  sent.on('response', ({ statusCode = 0 }) => {
    settle(statusCode >= 200 && statusCode < 400 ? '' : `HTTP status ${statusCode}`)
    sent.destroy()
  })
  sent.end()
}
