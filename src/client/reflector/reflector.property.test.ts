import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import type { InitialEvents } from '../testing/model-api.ts'
import { ModelApi } from '../testing/model-api.ts'
import { startRecorder } from '../testing/recorder.ts'
import { answerStatus, startScriptedServer } from '../testing/scripted-server.ts'

/** A step of a history: what happens to the server, or how long the client is waited for. */
type Step =
  | { readonly do: 'put' | 'remove'; readonly key: string; readonly spec: number }
  | { readonly do: 'compact' | 'expire' | 'bookmark' | 'hang-up' | 'tear' | 'save' | 'restore' }
  | { readonly do: 'fail'; readonly times: number }
  | { readonly do: 'yield' | 'settle' }

const key = fc.constantFrom('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'b/3', 'c/1', 'c/2')
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), key, spec: fc.nat(9) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('remove' as const), key, spec: fc.nat(9) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('compact', 'expire', 'bookmark', 'hang-up', 'tear', 'save', 'restore'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail' as const), times: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('yield', 'settle') }) },
)

const histories = fc.array(anyStep, { minLength: 5, maxLength: 60, size: 'max' })

/**
 * Runs a history on a server that a reflector follows. A server that is restored
 * to an older state fails for at least one request, as real ones do.
 */
async function run(steps: readonly Step[], initialEvents: InitialEvents): Promise<void> {
  const api = new ModelApi()
  api.initialEvents = initialEvents
  let failures = 0
  const server = await startScriptedServer((arrival) => {
    if (failures > 0) {
      failures--
      return failures % 2 === 0
        ? answerStatus(arrival.response, 502, 'BadGateway')
        : void arrival.request.socket.destroy()
    }
    return api.answer(arrival)
  })
  const recorder = startRecorder({
    server: server.url,
    clock: systemClock,
    timing: { backoffBaseMs: 1, backoffMaxMs: 4, initialIdleMs: 20, watchSeconds: [1, 1] },
  })
  const same = (): boolean => equalMaps(recorder.known, api.contents)
  try {
    let restore = api.snapshot()
    for (const step of steps) {
      if (step.do === 'put') api.put(step.key, step.spec)
      else if (step.do === 'remove') api.remove(step.key)
      else if (step.do === 'compact') api.compact()
      else if (step.do === 'expire') api.expire()
      else if (step.do === 'bookmark') api.bookmark()
      else if (step.do === 'hang-up' || step.do === 'tear') api.disconnect(step.do === 'tear')
      else if (step.do === 'save') restore = api.snapshot()
      else if (step.do === 'restore') {
        restore()
        failures = Math.max(failures, 1)
      } else if (step.do === 'fail') failures = Math.max(failures, step.times)
      else if (step.do === 'settle') await recorder.until(same)
      else await new Promise((resolve) => setImmediate(resolve))
    }
    for (const last of ['z/1', 'z/2']) {
      api.put(last, 1)
      await recorder.until(() => recorder.known.has(last) && same())
    }
    expect(recorder.known).toEqual(api.contents)
  } finally {
    await recorder.stop()
    await server.close()
  }
}

function equalMaps(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a].every(([name, value]) => b.get(name) === value)
}

test.each(['offered', 'refused', 'ignored'] as const)(
  'after any history the reflector has the objects of the server (streaming list %s)',
  async (initialEvents) => {
    await fc.assert(
      fc.asyncProperty(histories, (steps) => run(steps, initialEvents)),
      { numRuns: 60, timeout: 5_000, endOnFailure: true },
    )
  },
  60_000,
)
