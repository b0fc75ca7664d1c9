import { setTimeout as delay } from 'node:timers/promises'
import { busyPercent } from '../measure/busy-percent.ts'
import type { Options } from '../options.ts'
import { saveResults } from '../report/files.ts'
import type { UserspaceResults } from '../report/userspace/results.ts'
import { startBackend } from './backend/start-backend.ts'
import { Contestant } from './contest.ts'
import { startLoad } from './load/load.ts'
import { describeMachine, descriptorLimit } from './machine.ts'
import { FIGURES } from './measure/figures.ts'
import { idleConnections, mostConnections } from './measure/idle-connections.ts'
import { SUBJECTS } from './subjects/all.ts'

const WARM_UP_MS = 300
/** Milliseconds between two subjects, in which the connections of the first one end. */
const REST_MS = 200

/** Compares the subjects; every round measures all of them. */
export async function runUserspace(options: Options, folder: string): Promise<void> {
  const load = startLoad()
  const all = SUBJECTS.map((subject) => new Contestant(subject, load, folder))
  const endBackend = await startBackend(
    folder,
    all.map(({ path }) => path.backends),
  )
  try {
    await new Contest(options, all).run()
  } finally {
    for (const contestant of all) await contestant.stop()
    load.stop()
    endBackend()
    for (const { path } of all) path.remove()
  }
}

class Contest {
  readonly #options: Options
  readonly #all: readonly Contestant[]
  readonly #results: Omit<UserspaceResults, 'cells' | 'busyPercent'>
  #busyPercent = 0

  constructor(options: Options, all: readonly Contestant[]) {
    this.#options = options
    this.#all = all
    const { quick, repeats } = options
    const startedAt = new Date().toISOString().slice(0, 10)
    this.#results = { startedAt, machine: describeMachine(), quick, roundMs: repeats.roundMs }
  }

  async run(): Promise<void> {
    const { rounds, roundMs, idleStarts } = this.#options.repeats
    for (const contestant of this.#all) await contestant.attempt(() => contestant.start())
    this.#busyPercent = await busyPercent()
    await this.#round(WARM_UP_MS, false)
    for (let round = 1; round <= rounds; round++) {
      log(`round ${round} of ${rounds}`)
      await this.#round(roundMs, true)
      this.#save()
    }
    for (const contestant of this.#all) await contestant.stop()
    for (let start = 1; start <= idleStarts; start++) {
      log(`idle connections, ${start} of ${idleStarts}`)
      for (const contestant of this.#all) await this.#idle(contestant)
      this.#save()
    }
  }

  async #round(ms: number, counts: boolean): Promise<void> {
    for (const take of Object.values(FIGURES)) {
      for (const contestant of this.#all) {
        await contestant.attempt(async () => {
          const sample = await take(contestant, ms)
          return counts ? sample : {}
        })
        await delay(REST_MS)
      }
    }
  }

  /** Measures idle connections, unless the kernel does everything, and there is no process to measure. */
  async #idle(contestant: Contestant): Promise<void> {
    const connections = mostConnections(descriptorLimit())
    await contestant.attempt(async () => {
      await contestant.start()
      if (contestant.pids.length === 0) return {}
      return idleConnections(contestant, connections, this.#options.repeats.restMs)
    })
    await contestant.stop()
  }

  #save(): void {
    const cells = this.#all.map(({ cell }) => cell)
    const results = { ...this.#results, busyPercent: this.#busyPercent, cells }
    saveResults(this.#options.into, 'userspace', results)
  }
}

function log(what: string): void {
  process.stderr.write(`bench: userspace: ${what}\n`)
}
