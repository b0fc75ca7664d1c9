import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import type { ClusterEvent } from '../../../src/cluster/cluster-event.ts'
import { ClusterStore } from '../../../src/cluster/cluster-store.ts'
import type { NodeContext } from '../../../src/forwarding/node-context.ts'
import { ForwardingTable } from '../../../src/forwarding/table.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import type { Mode } from '../../../src/modes/mode.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'
import { NodeModel } from '../../../src/sync/node-model.ts'
import { SyncLoop } from '../../../src/sync/sync-loop.ts'
import { someEvents } from './some-events.ts'

/** What happens at one time; `failure` is of the kernel that the mode is tried on. */
export interface Step<Failure> {
  readonly events: readonly ClusterEvent[]
  /** The watch breaks and everything is listed again. */
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

/** Where a mode is tried. */
export interface World<Kernel, Failure> {
  bareKernel(): Kernel
  /** A mode as a daemon makes it that has just been started. */
  mode(kernel: Kernel, clock: FakeClock): Mode
  inject(kernel: Kernel, failure: Failure): void | Promise<void>
  /** From now on nothing fails any more. */
  heal(kernel: Kernel): void
  readonly node: NodeContext
}

/** The last event of every object that there is. */
export type State = Map<string, ClusterEvent>

/** Longer than all pauses before the retries of one object, in steps in which runs can end. */
const LONG_ENOUGH = { steps: 70, ms: 10_000 }

/** The kernel at the end of a history, and what the daemon failed at; `state` becomes the cluster's. */
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

/** The kernel of a daemon that finds the cluster so, and nothing of an earlier run. */
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

/** Whatever comes of these milliseconds is done before time goes on. */
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

/** Notes the last event of each object. */
export function remember(state: State, events: readonly ClusterEvent[]): void {
  for (const event of events) {
    const key = `${event.kind} ${event.kind === 'service' ? event.key : event.name}`
    if (event.value === undefined) state.delete(key)
    else state.set(key, event)
  }
}
