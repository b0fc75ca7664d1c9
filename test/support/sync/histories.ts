import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { type ClusterEvent, ClusterStore } from '../../../src/cluster/cluster-store.ts'
import type { NodeContext } from '../../../src/forwarding/node-context.ts'
import { ForwardingTable } from '../../../src/forwarding/table.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import type { Mode } from '../../../src/modes/mode.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'
import { NodeModel } from '../../../src/sync/node-model.ts'
import { SyncLoop } from '../../../src/sync/sync-loop.ts'
import { someEvents } from './some-events.ts'

/** What happens at one time; `failure`: a failure of the kernel under the mode. */
export interface Step<Failure> {
  readonly events: readonly ClusterEvent[]
  /** Whether the watch breaks and everything is listed again. */
  readonly relist: boolean
  readonly restart: boolean
  readonly wait: boolean
  readonly failure: Failure | undefined
}

/** Histories of a cluster and of a daemon, with failures of the kernel in between. */
export function someHistory<Failure>(
  failure: fc.Arbitrary<Failure>,
): fc.Arbitrary<readonly Step<Failure>[]> {
  const step: fc.Arbitrary<Step<Failure>> = fc.record({
    events: someEvents,
    relist: fc.boolean(),
    restart: fc.constantFrom(false, false, false, true),
    wait: fc.boolean(),
    failure: fc.option(failure, { nil: undefined, freq: 2 }),
  })
  return fc.array(step, { minLength: 1, maxLength: 12 })
}

/** The kernel and the mode that run a history. */
export interface World<Kernel, Failure> {
  bareKernel(): Kernel
  /** The mode of a daemon that has just been started. */
  mode(kernel: Kernel, clock: FakeClock): Mode
  inject(kernel: Kernel, failure: Failure): void | Promise<void>
  /** Ends all failures. */
  heal(kernel: Kernel): void
  readonly node: NodeContext
}

/** The last event of every existing object. */
export type State = Map<string, ClusterEvent>

/** Longer than all pauses before the retries of one object; each step is long enough for a run to end. */
const LONG_ENOUGH = { steps: 70, ms: 10_000 }

/** The kernel at the end of a history, and the failures of the daemon; `state` becomes the state of the cluster. */
export async function afterHistory<Kernel, Failure>(
  world: World<Kernel, Failure>,
  steps: readonly Step<Failure>[],
  state: State,
): Promise<{ readonly kernel: Kernel; readonly failed: readonly unknown[] }> {
  const kernel = world.bareKernel()
  const clock = new FakeClock()
  let { loop, failed } = daemon(world, kernel, clock)
  loop.setSynced()
  for (const { events, relist, restart, wait, failure } of steps) {
    if (failure !== undefined) await world.inject(kernel, failure)
    loop.enqueue(events)
    remember(state, events)
    if (wait) await pass(clock, 1)
    if (relist) loop.enqueue([...state.values()])
    if (restart) {
      await loop.stop()
      ;({ loop, failed } = daemon(world, kernel, clock))
      loop.enqueue([...state.values()])
      loop.setSynced()
    }
  }
  world.heal(kernel)
  for (let step = 0; step < LONG_ENOUGH.steps; step++) await pass(clock, LONG_ENOUGH.ms)
  await loop.stop()
  return { kernel, failed }
}

/** The kernel after a daemon started with this cluster, and with nothing of an earlier run. */
export async function afterFreshStart<Kernel, Failure>(
  world: World<Kernel, Failure>,
  state: State,
): Promise<Kernel> {
  const kernel = world.bareKernel()
  const clock = new FakeClock()
  const { loop } = daemon(world, kernel, clock)
  loop.enqueue([...state.values()].reverse())
  loop.setSynced()
  await pass(clock, 1)
  await loop.stop()
  return kernel
}

/** Advances the clock; the effects of this time are complete when it resolves. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms)
  await setImmediate()
}

function daemon<Kernel, Failure>(
  { mode: start, node }: World<Kernel, Failure>,
  kernel: Kernel,
  clock: FakeClock,
) {
  const mode = start(kernel, clock)
  const failed: unknown[] = []
  const ignore = () => {}
  const loop = new SyncLoop({
    mode,
    clock,
    wallClock: clock,
    model: new NodeModel({
      store: new ClusterStore(),
      table: new ForwardingTable(node),
      program: mode.program,
      nodeContext: () => node,
    }),
    tracker: new DeltaTracker(),
    observer: {
      queued: ignore,
      begun: ignore,
      compiled: ignore,
      applied: ignore,
      drifted: ignore,
      normalised: ignore,
      flowsCut: ignore,
      failed: (error) => failed.push(error),
      flowsFailed: (error) => failed.push(error),
    },
    cutFlows: async () => 0,
    minPeriodMs: 0,
    verifyPeriodMs: 30_000,
  })
  return { loop, failed }
}

/** Records the last event of each object. */
export function remember(state: State, events: readonly ClusterEvent[]): void {
  for (const event of events) {
    const key = `${event.kind} ${event.kind === 'service' ? event.key : event.name}`
    if (event.value === undefined) state.delete(key)
    else state.set(key, event)
  }
}
