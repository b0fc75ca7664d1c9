import type { Options } from '../options.ts'
import { readResults, saveResults } from '../report/files.ts'
import type { IpvsCell, IpvsMachine } from '../report/ipvs/results.ts'

/** The results of the ipvs mode, which are saved after every figure. */
export class IpvsStore {
  readonly #options: Pick<Options, 'into' | 'quick'>
  readonly #startedAt = new Date().toISOString().slice(0, 10)
  #cells: readonly IpvsCell[]

  constructor(options: Pick<Options, 'into' | 'quick' | 'keep'>) {
    this.#options = options
    this.#cells = options.keep ? (readResults(options.into, 'ipvs')?.cells ?? []) : []
  }

  /** Replaces the cell of the same size. */
  put(machine: IpvsMachine, cell: IpvsCell): void {
    const { into, quick } = this.#options
    const others = this.#cells.filter(({ services }) => services !== cell.services)
    this.#cells = [...others, cell].toSorted((a, b) => a.services - b.services)
    saveResults(into, 'ipvs', { startedAt: this.#startedAt, machine, quick, cells: this.#cells })
  }
}
