import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/**
 * A program of the benchmark in a process of its own. It reads one order per line from standard input, and answers each
 * with one line. `Reports` has the type of the answer to each order.
 */
export class WorkerProcess<Order extends { readonly what: keyof Reports }, Reports> {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor(program: URL) {
    const args = ['--disable-warning=ExperimentalWarning', program.pathname]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** Sends one order and waits for its answer. Throws the error that the program reports. */
  async request<What extends keyof Reports>(
    order: Order & { readonly what: What },
  ): Promise<Reports[What]> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`)
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('the load generator has ended')
    const report = JSON.parse(line.value) as Reports[What] & { readonly error?: string }
    if (report.error !== undefined) throw new Error(report.error)
    return report
  }

  stop(): void {
    this.#child.kill()
  }
}
