import type { ModeDriver } from '../definition/mode-driver.ts'
import type { ModeReview } from '../definition/mode-view.ts'
import type { MissingRequirement, Mode } from '../mode.ts'
import type { ModeInputs } from '../netfilter/settings/settings.ts'

/** A driver whose answers a test sets. */
export interface FakeDriver<C> extends ModeDriver<C> {
  /** What `prepare` finds. */
  missing: readonly MissingRequirement[]
  caveats: readonly MissingRequirement[]
  serving: boolean
  review?: ModeReview<C>
  loopbackGuards: ModeDriver<C>['loopbackGuards']
  /** The inputs of each call of `prepare`, and the configurations of `tune`. */
  readonly prepared: ModeInputs<C>[]
  readonly tuned: C[]
  /** How often `recover` and `close` were called. */
  readonly calls: { recover: number; close: number }
}

/** Without `build`, building the mode throws. */
export interface FakeDriverOptions<C> {
  readonly build?: () => Mode
  readonly demands?: (config: C) => unknown
  readonly leftovers?: ModeDriver<C>['leftovers']
}

/** A driver that is ready and opens nothing. */
export function fakeDriver<C>(name: string, options: FakeDriverOptions<C> = {}): FakeDriver<C> {
  const calls = { recover: 0, close: 0 }
  const prepared: ModeInputs<C>[] = []
  const tuned: C[] = []
  const build = () => {
    if (options.build === undefined) throw new Error(`${name} is not to be built`)
    return options.build()
  }
  const driver: FakeDriver<C> = {
    name,
    missing: [],
    caveats: [],
    serving: false,
    prepared,
    tuned,
    calls,
    demands: options.demands ?? (() => undefined),
    async prepare(inputs) {
      prepared.push(inputs)
      return { missing: driver.missing, caveats: driver.caveats, facts: {} }
    },
    spec({ localAddresses, serviceCIDRs = [] }) {
      const settings = { localAddresses, serviceCIDRs }
      return { mode: name, settings, minPeriodMs: 0, verifyPeriodMs: 30_000, build }
    },
    periods: () => ({ syncPeriod: 30_000, minSyncPeriod: 0 }),
    view: async () => {
      throw new TypeError(`${name} is not to be read`)
    },
    tune: (config) => void tuned.push(config),
    loopbackGuards: () => undefined,
    isServing: async () => driver.serving,
    leftovers: options.leftovers ?? (() => undefined),
    recover: async () => void calls.recover++,
    close: async () => void calls.close++,
  }
  return driver
}
