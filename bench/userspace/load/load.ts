import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { LoadOrder, LoadReports } from './order.ts'

const PROGRAM = new URL('./main.ts', import.meta.url).pathname

/** The load generator's process, and its answers. */
export class Load {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>

  constructor() {
    this.#child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  /** One order after the other. Throws what the generator could not do. */
  async ask<What extends keyof LoadReports>(
    order: LoadOrder & { readonly what: What },
  ): Promise<LoadReports[What]> {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`)
    const line = await this.#lines.next()
    if (line.done === true) throw new Error('the load generator has ended')
    const report = JSON.parse(line.value) as LoadReports[What] & { readonly error?: string }
    if (report.error !== undefined) throw new Error(report.error)
    return report
  }

  stop(): void {
    this.#child.kill()
  }
}
