import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { ChildPeak } from '../daemon/child-peak.ts'
import { cpuSeconds } from '../daemon/process-tree.ts'
import type { Backend } from '../report/results.ts'
import { parseSaved, type SavedRules } from './saved-rules.ts'

const FAMILIES = { 4: 'iptables', 6: 'ip6tables' } as const
export type Family = keyof typeof FAMILIES

/**
 * iptables without a daemon: a small shell in the node's namespace, which is the cheapest way to start the programs.
 */
export class RawKernel {
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>
  readonly #folder: string
  readonly #backend: Backend
  readonly #peak: ChildPeak
  readonly #waiting: ((status: string) => void)[] = []

  constructor(namespace: string, backend: Backend, folder: string) {
    this.#backend = backend
    this.#folder = folder
    this.#shell = spawn('ip', ['netns', 'exec', namespace, 'sh'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#peak = new ChildPeak(this.#shell.pid ?? 0)
    createInterface({ input: this.#shell.stdout }).on('line', (line) =>
      this.#waiting.shift()?.(line),
    )
    this.#shell.once('exit', () => {
      for (const settle of this.#waiting) settle('ended')
    })
  }

  /** KiB of the largest program so far. */
  get childPeak(): number {
    return this.#peak.kib
  }

  cpuSeconds(): number {
    return cpuSeconds(this.#shell.pid ?? 0)
  }

  async save(family: Family): Promise<SavedRules> {
    const file = join(this.#folder, 'saved')
    await this.#run(`${this.#program(family, 'save')} >${file}`)
    return parseSaved(readFileSync(file, 'utf8'))
  }

  /** Writes the text to a file. @returns a function that restores it, and resolves when the program has ended */
  prepare(family: Family, text: string): () => Promise<void> {
    const file = join(this.#folder, `restore-${family}`)
    writeFileSync(file, text)
    return () => this.#run(`${this.#program(family, 'restore')} --noflush -w 5 <${file}`)
  }

  close(): void {
    this.#peak.stop()
    this.#shell.stdin.end()
  }

  #program(family: Family, what: string): string {
    return `${FAMILIES[family]}-${this.#backend}-${what}`
  }

  async #run(command: string): Promise<void> {
    const status = await new Promise<string>((resolve) => {
      this.#waiting.push(resolve)
      this.#shell.stdin.write(`${command}; echo $?\n`)
    })
    if (status !== '0') throw new Error(`${command}: status ${status}`)
  }
}
