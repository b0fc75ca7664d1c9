import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, stringsAt, valueAt } from '../../../lib/json.ts'
import { readPod } from '../../objects/pod-object.ts'
import { readWorkload } from '../../objects/workload-object.ts'
import { reportsOn } from '../../runner/write.ts'
import { jobController } from '../job-controller.ts'
import { job, jobScene, NOW, TRACKING } from '../testing/job-scene.ts'
import type { PodEvent } from '../testing/simulated-nodes.ts'
import { endOf } from './job-status.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 100)
/** More failures than a history has. */
const ENDLESS = 1_000

/** What is decided before a history. */
interface Strategy {
  readonly completionMode: 'NonIndexed' | 'Indexed'
  readonly completions: number | null
  readonly backoffLimit: number
  readonly podReplacementPolicy: 'TerminatingOrFailed' | 'Failed'
}

type Step =
  | { readonly what: 'pod'; readonly pick: number; readonly event: PodEvent }
  | { readonly what: 'change'; readonly spec: JsonObject }
  | { readonly what: 'wait'; readonly ms: number }
  /** The controller reconciles so many times, and is killed after so many writes of the last time. */
  | { readonly what: 'look'; readonly times: number; readonly writes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('pod' as const),
      pick: fc.nat(20),
      event: fc.constantFrom<PodEvent>(
        'bind',
        'bind',
        'ready',
        'fail',
        'succeed',
        'succeed',
        'delete',
        'end',
      ),
    }),
  },
  fc.record({
    what: fc.constant('change' as const),
    spec: fc.oneof(
      fc.record({ parallelism: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ suspend: fc.boolean() }),
    ),
  }),
  fc.record({ what: fc.constant('wait' as const), ms: fc.constantFrom(1_000, 10_000, 360_000) }),
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('look' as const),
      times: fc.integer({ min: 1, max: 4 }),
      writes: fc.integer({ min: 0, max: 6 }),
    }),
  },
)

const strategy: fc.Arbitrary<Strategy> = fc
  .record({
    completionMode: fc.constantFrom('NonIndexed' as const, 'Indexed' as const),
    completions: fc.constantFrom(null, 1, 2, 4),
    backoffLimit: fc.constantFrom(ENDLESS, ENDLESS, 1),
    podReplacementPolicy: fc.constantFrom('TerminatingOrFailed' as const, 'Failed' as const),
  })
  .filter(({ completionMode, completions }) => completionMode !== 'Indexed' || completions !== null)

/** A cluster in which a history is played. */
function stage(spec: Strategy) {
  const scene = jobScene(job({ ...spec, parallelism: 2 }))
  const { cluster } = scene
  /** The Pods that ended before they lost the finalizer: all that count. */
  const ended = new Set<string>()
  let now = NOW
  const pods = () => scene.pods().map(readPod)
  const isActive = ({ finished, meta }: ReturnType<typeof readPod>) =>
    !finished && !meta.terminating

  function observe(): void {
    for (const { meta, finished, graceSeconds, nodeName } of pods()) {
      const isRunning = nodeName !== '' && graceSeconds > 0
      const isAwaited = spec.podReplacementPolicy === 'Failed' && isRunning
      const hasEnded = finished || (meta.terminating && !isAwaited)
      if (hasEnded && meta.finalizers.includes(TRACKING)) ended.add(meta.uid)
    }
  }

  /** Reconciles, makes at most so many writes, and checks what was made. */
  async function look(writes = Number.POSITIVE_INFINITY): Promise<number> {
    const before = pods()
    const made = jobController.reconcile('shop/web', cluster.view, now, 0).writes
    for (const write of made.slice(0, writes)) {
      const result = await cluster.writer.write(write)
      for (const report of reportsOn(write, result)) await cluster.writer.write(report)
      expect(result).toMatchObject({ ok: true })
      observe()
    }
    const known = new Set(before.map(({ meta }) => meta.uid))
    if (pods().some(({ meta }) => !known.has(meta.uid))) {
      const parallelism = Number(valueAt(scene.get(), 'spec', 'parallelism'))
      expect(pods().filter(isActive).length).toBeLessThanOrEqual(parallelism)
      expect(valueAt(scene.get(), 'spec', 'suspend') ?? false).toBe(false)
    }
    return made.length
  }

  async function play(one: Step): Promise<void> {
    if (one.what === 'wait') now += one.ms
    if (one.what === 'change') scene.change(one.spec)
    if (one.what === 'look') {
      for (let left = one.times; left > 1; left--) await look()
      await look(one.writes)
    }
    if (one.what !== 'pod') return
    const all = scene.pods()
    const pod = all[one.pick % Math.max(1, all.length)]
    if (pod !== undefined) scene.act(pod, one.event, now)
    observe()
  }

  /** Lets all Pods succeed and the controller reconcile until the Job has ended and nothing is left to do. */
  async function finish(): Promise<void> {
    scene.change({ suspend: false, parallelism: 2 })
    for (let quiet = 0; quiet < 2; ) {
      now += 3_600_000
      let writes = 0
      for (let count = -1; count !== 0; writes += count) count = await look()
      for (const event of ['end', 'bind', 'succeed'] as const) {
        for (const pod of scene.pods()) scene.act(pod, event, now)
      }
      observe()
      quiet = writes === 0 ? quiet + 1 : 0
    }
  }

  const status = () => readWorkload(scene.get()).status
  const count = (field: string) => Number(status()[field] ?? 0)
  return { play, finish, pods, ended, status, count, job: () => readWorkload(scene.get()) }
}

test('in any history each Pod is counted once, and the Job ends as after a fresh start', async () => {
  await fc.assert(
    fc.asyncProperty(
      strategy,
      fc.array(step, { maxLength: 80, size: 'max' }),
      async (spec, steps) => {
        const played = stage(spec)
        for (const one of steps) await played.play(one)
        await played.finish()
        const end = stringAt(endOf(played.job()), 'type')
        const left = played.pods().filter(({ meta, finished }) => {
          return !finished || meta.finalizers.length > 0
        })
        expect(left).toEqual([])
        expect(stringsAt(played.status(), 'uncountedTerminatedPods', 'failed')).toEqual([])
        expect([played.count('active'), played.count('terminating')]).toEqual([0, 0])
        if (spec.completionMode === 'NonIndexed') {
          expect(played.count('succeeded') + played.count('failed')).toBe(played.ended.size)
        }
        expect(end).toBe(played.count('failed') > spec.backoffLimit ? 'Failed' : 'Complete')
        if (end === 'Failed') return
        const fresh = stage(spec)
        await fresh.finish()
        const shown = ({ status, count }: typeof played) => [
          count('succeeded') >= (spec.completions ?? 1),
          status()['completedIndexes'],
          arrayAt(status(), 'conditions')
            .map((one) => stringAt(one, 'type'))
            .includes('Complete'),
        ]
        expect(shown(played)).toEqual(shown(fresh))
        if (spec.completions !== null) {
          expect(played.count('succeeded')).toBe(fresh.count('succeeded'))
        }
      },
    ),
    { numRuns: HISTORIES },
  )
}, 120_000)
