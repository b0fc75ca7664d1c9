import type { TrafficCounts } from '../../mode.ts'

const NAMES = [
  'connections',
  'connectionsNow',
  'udpFlows',
  'udpFlowsNow',
  'bytesIn',
  'bytesOut',
  'connectFailures',
  'connectRetries',
  'unserved',
  'overLimit',
  'evicted',
  'outsideRanges',
  'drainedOut',
  'setAsideNow',
  'drainingNow',
] as const satisfies readonly (keyof TrafficCounts)[]

export type CountName = (typeof NAMES)[number]

const INDEX = Object.fromEntries(NAMES.map((name, index) => [name, index])) as Readonly<
  Record<CountName, number>
>

/** The memory of one worker's counters: a Float64 for each name. */
export type CounterMemory = SharedArrayBuffer

/** Memory for one worker, with all counters at zero. */
export function createCounterMemory(): CounterMemory {
  return new SharedArrayBuffer(NAMES.length * Float64Array.BYTES_PER_ELEMENT)
}

/** Counters of one worker. Only the worker writes them; the main thread reads them at any time. */
export class Counters {
  readonly #values: Float64Array

  constructor(memory: CounterMemory) {
    this.#values = new Float64Array(memory)
  }

  add(name: CountName, amount = 1): void {
    const index = INDEX[name]
    this.#values[index] = (this.#values[index] ?? 0) + amount
  }

  set(name: CountName, value: number): void {
    this.#values[INDEX[name]] = value
  }

  get(name: CountName): number {
    return this.#values[INDEX[name]] ?? 0
  }
}

/** The sum over all workers, by name. */
export function sumCounts(workers: readonly CounterMemory[]): Record<CountName, number> {
  const all = workers.map((memory) => new Counters(memory))
  const sum = (name: CountName) => all.reduce((total, counters) => total + counters.get(name), 0)
  return Object.fromEntries(NAMES.map((name) => [name, sum(name)])) as Record<CountName, number>
}
