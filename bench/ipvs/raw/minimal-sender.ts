import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { SenderOrder, SenderReport } from './order.ts'

const PROGRAM = new URL('sender.ts', import.meta.url).pathname
const FLAGS = ['--disable-warning=ExperimentalWarning']

/** The minimal sender in a namespace, with virtual servers from number `first` on. */
export class MinimalSender {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: Interface
  readonly #ended: Promise<unknown>

  constructor(namespace: string, first = 0) {
    const program = [process.execPath, ...FLAGS, PROGRAM, String(first)]
    this.#child = spawn('ip', ['netns', 'exec', namespace, ...program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })
    this.#ended = once(this.#child, 'exit')
  }

  async follow(order: SenderOrder): Promise<SenderReport> {
    const answer = once(this.#lines, 'line') as Promise<[string]>
    this.#child.stdin.write(`${JSON.stringify(order)}\n`)
    const ended = this.#ended.then(() => Promise.reject(new Error('the minimal sender ended')))
    const [line] = await Promise.race([answer, ended])
    return JSON.parse(line) as SenderReport
  }

  async close(): Promise<void> {
    this.#child.stdin.end()
    await this.#ended
  }
}
