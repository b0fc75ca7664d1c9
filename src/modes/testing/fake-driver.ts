import type { Mode } from '../mode.ts'
import type { NodeProxyConfiguration } from '../../nodeproxy/config/configuration.ts'
import type { Lack, ModeKind, Situation } from '../definition/mode-driver.ts'

/** A kind of mode that does what a test tells it to. */
export interface FakeKind extends ModeKind {
  /** What `prepare` finds. */
  lacks: readonly Lack[]
  serving: boolean
  loopbackGuards: ModeKind['loopbackGuards']
  readonly prepared: Situation[]
  readonly tuned: NodeProxyConfiguration[]
  /** How often `recover` and `close` were called. */
  readonly calls: { recover: number; close: number }
}

export interface FakeKindOptions {
  readonly build?: () => Mode
  readonly demands?: (config: NodeProxyConfiguration) => unknown
  readonly leftovers?: ModeKind['leftovers']
}

export function fakeKind(name: string, options: FakeKindOptions = {}): FakeKind {
  const calls = { recover: 0, close: 0 }
  const prepared: Situation[] = []
  const tuned: NodeProxyConfiguration[] = []
  const build = () => {
    if (options.build === undefined) throw new Error(`${name} is not to be built`)
    return options.build()
  }
  const kind: FakeKind = {
    ...{ name, lacks: [], serving: false, prepared, tuned, calls },
    demands: options.demands ?? (() => undefined),
    async prepare(situation) {
      prepared.push(situation)
      return { lacks: kind.lacks, facts: {} }
    },
    blueprint({ localAddresses }) {
      const settings = { localAddresses }
      return { mode: name, settings, minPeriodMs: 0, verifyPeriodMs: 30_000, build }
    },
    periods: () => ({ syncPeriod: 30_000, minSyncPeriod: 0 }),
    tune: (config) => void tuned.push(config),
    loopbackGuards: () => undefined,
    isServing: async () => kind.serving,
    leftovers: options.leftovers ?? (() => undefined),
    recover: async () => void calls.recover++,
    close: async () => void calls.close++,
  }
  return kind
}
