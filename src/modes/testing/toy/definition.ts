import type { ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import type { Mode } from '../../mode.ts'

/** The toy mode's own part of the configuration; times are milliseconds. */
export interface ToyConfiguration {
  readonly toy: {
    readonly syncPeriod: number
    readonly minSyncPeriod: number
    readonly greeting: string
  }
}

/** What a test reads of a toy mode, and what it sets. */
export interface ToyWorld {
  /** What the mode was called for, in order, such as `probe hello`, `build hello`, `tune`, `close`. */
  readonly calls: string[]
  /** The kernel feature that the probe does not find; undefined if it finds all. */
  missing?: string
  readonly build: () => Mode
}

/** A mode in one folder: everything that the daemon needs to know about it. */
export function toyMode(world: ToyWorld): ModeDefinition<ToyConfiguration> {
  const { calls } = world
  return {
    name: 'toy',
    gaps: [{ scenario: 'forwarding', reason: 'it is a toy' }],
    fields,
    periods: ({ toy }) => toy,
    conflicts: ({ toy }) =>
      toy.greeting === 'bye'
        ? [{ paths: ['toy.greeting'], message: 'a greeting that takes leave' }]
        : [],
    requirements: () => [],
    createDriver: (host) => createDriver(host, world),
    cleanup: () => [
      async () => void calls.push('cleanup rules'),
      async () => void calls.push('cleanup sets'),
    ],
  }
}

const duration = {
  name: 'milliseconds',
  schema: { type: 'integer' } as const,
  decode: (raw: unknown) => ({ ok: true, value: Number(raw) }) as const,
  fromFlag: (text: string) => ({ ok: true, value: Number(text) }) as const,
  encode: (value: unknown) => Number(value),
}

const text = {
  name: 'string',
  schema: { type: 'string' } as const,
  decode: (raw: unknown) => ({ ok: true, value: String(raw) }) as const,
  fromFlag: (given: string) => ({ ok: true, value: given }) as const,
  encode: String,
}

const fields = {
  'toy.greeting': {
    flag: 'toy-greeting',
    type: text,
    fallback: 'hello',
    doc: 'What the toy says.',
    reload: 'live',
  },
  'toy.syncPeriod': period('toy-sync-period', 30_000),
  'toy.minSyncPeriod': period('toy-min-sync-period', 0),
} as const

function period(flag: string, fallback: number) {
  return { flag, type: duration, fallback, doc: 'A period of the toy.', reload: 'live' } as const
}

function createDriver(_host: ModeHost, world: ToyWorld): ModeDriver<ToyConfiguration> {
  const { calls } = world
  return {
    name: 'toy',
    periods: ({ toy }) => toy,
    demands: ({ toy }) => toy.greeting,
    async prepare({ config }) {
      calls.push(`probe ${config.toy.greeting}`)
      const { missing } = world
      if (missing === undefined) return { missing: [], facts: {} }
      return { missing: [{ code: 'NP_TOY', what: missing, remedy: 'wind it up' }], facts: {} }
    },
    spec: ({ config }) => ({
      mode: 'toy',
      settings: config.toy,
      minPeriodMs: config.toy.minSyncPeriod,
      verifyPeriodMs: config.toy.syncPeriod,
      build: () => {
        calls.push(`build ${config.toy.greeting}`)
        return world.build()
      },
    }),
    view: async () => {
      throw new TypeError('there is nothing to see of a toy')
    },
    tune: () => void calls.push('tune'),
    loopbackGuards: () => undefined,
    isServing: async () => false,
    leftovers: () => undefined,
    recover: async () => {},
    close: async () => void calls.push('close'),
  }
}
