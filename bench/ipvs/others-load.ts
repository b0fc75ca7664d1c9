import { cpuSeconds } from '../daemon/process-tree.ts'
import { machineTicks } from '../measure/idle.ts'

/** The processor time of other processes while a kernel of the benchmark runs, which distorts the figures. */
export class OthersLoad {
  readonly #before = machineTicks()
  readonly #own = cpuSeconds(process.pid)

  /** Per cent of all cores since this object was created. */
  percent(): number {
    const { busy, all } = machineTicks()
    const own = (cpuSeconds(process.pid) - this.#own) * TICKS_PER_SECOND
    return (Math.max(0, busy - this.#before.busy - own) / (all - this.#before.all)) * 100
  }
}

const TICKS_PER_SECOND = 100
