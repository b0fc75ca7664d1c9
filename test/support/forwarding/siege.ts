import { backend } from '../../../src/modes/testing/mode-fixtures.ts'
import type { DataPath, ForwarderLimits } from '../../../src/modes/userspace/forwarder.ts'
import type { Route } from '../../../src/modes/userspace/route.ts'
import type { ForwarderCalls, Usage } from './forwarder.script.ts'
import { ECHO_PORT, routeTo } from './frontends.ts'
import type { ProberCalls, Waits } from './prober.script.ts'
import type { Remote } from './remote.ts'
import { backendAddress, type Stage } from './stage.ts'

export const PORT = 80
/** Connections that honest clients keep open. */
export const KEPT = 16

/** How often honest clients are measured, alternately without and under attack. */
const ROUNDS = 5
const MEASUREMENTS = 800
/** The niceness of measured processes, which must not wait for others: the scheduler is not what is measured. */
const FIRST = -20

export interface Attack {
  begin(): Promise<unknown>
  /** Ends the attack; resolves when nothing of it is left. */
  end(): Promise<unknown>
}

/** By which factor the 99th percentile of waits grows under attack; the median of all rounds. */
export interface Slowdown {
  readonly ratio: number
  readonly failures: number
}

/** A forwarder with one echoing backend and honest clients, which a test attacks. */
export class Siege {
  readonly forwarder: Remote<ForwarderCalls>
  readonly prober: Remote<ProberCalls>
  readonly lostWorkers: readonly unknown[]

  private constructor(
    forwarder: Remote<ForwarderCalls>,
    prober: Remote<ProberCalls>,
    lostWorkers: readonly unknown[],
  ) {
    this.forwarder = forwarder
    this.prober = prober
    this.lostWorkers = lostWorkers
  }

  static async begin(
    stage: Stage,
    dataPath: DataPath,
    { workers = 2, ...limits }: Partial<ForwarderLimits> & { readonly workers?: number } = {},
  ): Promise<Siege> {
    const lost: unknown[] = []
    const onNews = (news: unknown) => void lost.push(news)
    const forwarder = await stage.start<ForwarderCalls>('node', 'forwarder.script.ts', {
      onNews,
      nice: FIRST,
    })
    await stage.start('backends', 'echo.script.ts', { args: [backendAddress(1)], nice: FIRST })
    const prober = await stage.start<ProberCalls>('clients', 'prober.script.ts', { nice: FIRST })
    await forwarder.call('open', { dataPath, workers, limits })
    const backends = [backend(backendAddress(1), { port: ECHO_PORT })]
    const udp = { id: 'test/listener:80/udp' as Route['id'], protocol: 'UDP' } as const
    await forwarder.call('apply', [routeTo(PORT, backends), routeTo(PORT, backends, udp)])
    return new Siege(forwarder, prober, lost)
  }

  usage(): Promise<Usage> {
    return this.forwarder.call('usage')
  }

  /** Measures alternately without and under attack. */
  async slowdown(attack: Attack): Promise<Slowdown> {
    const measure = { port: PORT, count: MEASUREMENTS }
    await this.prober.call('keep', { port: PORT, count: KEPT })
    await this.prober.call('measure', measure)
    const rounds: (readonly [Waits, Waits])[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const peace = await this.prober.call('measure', measure)
      await attack.begin()
      rounds.push([peace, await this.prober.call('measure', measure)])
      await attack.end()
    }
    const ratio = median(rounds.map(([peace, war]) => war.p99 / peace.p99))
    const failures = rounds.flat().reduce((sum, waits) => sum + waits.failures, 0)
    return { ratio, failures }
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
