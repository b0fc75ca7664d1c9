import { expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { Conditions } from '../../telemetry/health/conditions.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { recordingLog } from '../testing/wiring.ts'
import { LoopbackControl } from './loopback-control.ts'
import type { LoopbackRouting } from './loopback-routing.ts'

type Closing = Awaited<ReturnType<LoopbackRouting['close']>>

function rig(isOpen = false) {
  const clock = new FakeClock()
  const { log } = recordingLog()
  const conditions = new Conditions({ log, metrics: createMetrics() })
  const calls: string[] = []
  const world = { isOpen, error: undefined as Error | undefined, outcome: 'closed' as Closing }
  const call = async (name: string, to?: boolean) => {
    calls.push(name)
    if (world.error !== undefined) throw world.error
    if (to !== undefined) world.isOpen = to
  }
  const routing = {
    get isOpen() {
      return world.isOpen
    },
    open: () => call('open', true),
    guard: () => call('guard'),
    close: async () => {
      await call('close', world.outcome === 'closed' ? false : undefined)
      return world.outcome
    },
  }
  const onClosed = () => void calls.push('closed')
  const control = new LoopbackControl({ routing, conditions, clock, onClosed })
  const messages = () => conditions.current().map(({ message }) => message)
  const settled = () => clock.advance(0)
  return { clock, calls, world, control, messages, settled }
}

test('until it is decided it is only guarded, from the start and every minute', async () => {
  const { clock, calls, control } = rig(true)
  await control.start()
  await clock.advance(60_000)
  expect(calls).toEqual(['guard', 'guard'])
  await control.stop()
  await clock.advance(600_000)
  expect(calls).toHaveLength(2)
})

test('it is opened once, and again when another program closed it', async () => {
  const { calls, control, settled, world } = rig()
  for (let run = 0; run < 3; run++) {
    control.open()
    await settled()
  }
  expect(calls).toEqual(['open'])
  world.isOpen = false
  control.open()
  await settled()
  expect(calls).toEqual(['open', 'open'])
})

test('closed once; the rules follow, and nothing is checked any more', async () => {
  const { clock, calls, control } = rig(true)
  control.close()
  await clock.advance(600_000)
  expect(calls).toEqual(['close', 'closed'])
})

test.each(['kept', 'unguarded'] as const)(
  'what stays open (%s) is guarded every minute',
  async (outcome) => {
    const { clock, calls, control, settled, world } = rig(true)
    world.outcome = outcome
    control.close()
    await settled()
    expect(calls).toEqual(['close', 'guard'])
    await clock.advance(60_000)
    expect(calls).toEqual(['close', 'guard', 'close', 'guard'])
  },
)

test.each(['open', 'close'] as const)(
  '%s that fails is a condition until it succeeds',
  async (what) => {
    const { clock, calls, control, settled, messages, world } = rig(what === 'close')
    world.error = new NodeProxyError('NP_X', 'read-only', { hint: 'mount it' })
    for (let run = 0; run < 3; run++) {
      control[what]()
      await settled()
    }
    expect(messages()).toEqual(['node ports on 127.0.0.1: read-only; mount it (NP_X)'])
    if (what === 'open') expect(calls).toEqual(['open'])
    world.error = undefined
    await clock.advance(10_000)
    expect([messages(), world.isOpen]).toEqual([[], what === 'open'])
  },
)

test('after the end nothing is written, and nothing is tried again', async () => {
  const { calls, clock, control, settled, world } = rig()
  world.error = new Error('busy')
  control.open()
  await settled()
  await control.stop()
  control.open()
  await clock.advance(600_000)
  expect(calls).toEqual(['open'])
})
