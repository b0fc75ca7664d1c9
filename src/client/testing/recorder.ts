import type { Clock } from '../../lib/clock.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { Random } from '../../lib/random.ts'
import { connectionTo } from '../connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../http/api-client.ts'
import type { Change, Projection } from '../reflector/object-tracker.ts'
import { createReflector, type Reflector } from '../reflector/reflector.ts'
import type { ReflectorResource, ReflectorTiming } from '../reflector/reflector-context.ts'

/** Follows `/things` into a map, and lets a test wait for a state of the map. */
export interface Recorder {
  readonly reflector: Reflector
  readonly known: ReadonlyMap<string, unknown>
  readonly batches: readonly (readonly Change<unknown>[])[]
  readonly invalid: readonly string[]
  readonly lost: readonly string[]
  /** `verb NP_CODE` of each failed request. */
  readonly failed: readonly string[]
  readonly listings: () => number
  /** Resolves as soon as `condition` holds after some callback (or holds now). */
  until(condition: () => boolean): Promise<void>
  stop(): Promise<'aborted' | 'gone'>
  readonly done: Promise<'aborted' | 'gone'>
}

export interface RecorderOptions {
  readonly server: string
  readonly clock: Clock
  readonly timing?: Partial<ReflectorTiming>
  readonly resource?: Partial<ReflectorResource>
  readonly random?: Pick<Random, 'below'>
}

export function startRecorder(options: RecorderOptions): Recorder {
  const { server, clock, timing = {}, resource = {}, random = { below: () => 0 } } = options
  const client: ApiClient = createApiClient({
    connection: connectionTo(server),
    clock,
    userAgent: 'test',
  })
  const known = new Map<string, unknown>()
  const batches: (readonly Change<unknown>[])[] = []
  const invalid: string[] = []
  const lost: string[] = []
  const failed: string[] = []
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const check of waiting) check()
  }
  let listings = 0
  const reflector = createReflector<unknown, string>({
    client,
    clock,
    random,
    timing,
    resource: { path: '/things', query: {}, ...resource },
    decode: decodeSpec,
    onChanges(changes) {
      batches.push(changes)
      for (const { key, value } of changes) {
        if (value === undefined) known.delete(key)
        else known.set(key, value)
      }
      wake()
    },
    onListed() {
      listings++
      wake()
    },
    onInvalid(key) {
      invalid.push(key)
      wake()
    },
    onLost(reason) {
      lost.push(reason)
      wake()
    },
    onFailure(failure, verb) {
      failed.push(`${verb} ${failure.errorCode}`)
      wake()
    },
    onConnected: () => undefined,
  })
  const abort = new AbortController()
  const done = reflector.run(abort.signal)
  return {
    reflector,
    known,
    batches,
    invalid,
    lost,
    failed,
    listings: () => listings,
    done,
    until(condition) {
      return new Promise((resolve) => {
        const check = (): void => {
          if (!condition()) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
    },
    async stop() {
      abort.abort()
      const end = await done
      await client.close()
      return end
    },
  }
}

/** `spec` is the value; `'bad'` cannot be decoded, `'ignored'` is ignored, `'throw'` is a bug. */
function decodeSpec(raw: unknown): Projection<unknown, string> {
  const spec = isJsonObject(raw) ? raw['spec'] : undefined
  if (spec === 'throw') throw new Error('a bug')
  if (spec === 'bad') return { ok: false, problems: ['spec is "bad"'] }
  return { ok: true, value: spec === 'ignored' ? undefined : spec }
}
