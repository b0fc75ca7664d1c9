import { memoryOf, processTree } from './process-tree.ts'

const SAMPLE_MS = 20

/** Watches the memory of the programs that a process starts. It samples, so its figures are a little too low. */
export class ChildPeak {
  readonly #root: number
  readonly #timer: NodeJS.Timeout
  #kib = 0

  constructor(root: number) {
    this.#root = root
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
  }

  /** KiB of the largest one so far. */
  get kib(): number {
    return this.#kib
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    for (const pid of processTree(this.#root).slice(1)) {
      this.#kib = Math.max(this.#kib, memoryOf(pid)?.peak ?? 0)
    }
  }
}
