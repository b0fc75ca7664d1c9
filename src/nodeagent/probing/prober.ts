import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Namespace } from '../network/namespace.ts'
import type { ProbeResult } from '../state/pod-event.ts'
import type { ProbeReply, ProbeTarget } from './protocol.ts'

const PROGRAM = new URL('./main.ts', import.meta.url).pathname

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
    child.stdin.on('error', () => undefined)
    child.once('error', end)
    child.once('close', end)
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, outcome, message } = JSON.parse(line) as ProbeReply
      this.#waiting.get(id)?.({ outcome, message })
      this.#waiting.delete(id)
    })
    return child
  }
}
