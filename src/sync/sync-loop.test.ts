import { describe, expect, test } from 'vitest'
import { service, serviceKey } from '../forwarding/testing/fixtures.ts'
import { endpointsEvent, objectOf, rig, serviceEvents } from './testing/rig.ts'
import { digestOf, objectKey } from './testing/scripted-mode.ts'

type Rig = ReturnType<typeof rig>

/** A loop that has Services s1, s2 … in the kernel and rests, with nothing reported yet. */
async function running(names: readonly string[], options?: Parameters<typeof rig>[0]) {
  const made = rig(options)
  for (const name of names) made.loop.enqueue(serviceEvents(name))
  made.loop.setSynced()
  await made.clock.advance(1_000)
  forget(made)
  return made
}

function forget({ mode, reported }: Rig): void {
  mode.calls.length = 0
  for (const list of Object.values(reported)) list.length = 0
}

/** Whether the kernel holds exactly what is wanted. */
function isRight({ mode }: Rig): boolean {
  const { kernel, program } = mode
  const same = [...program.wanted].every(([key, digest]) => kernel.get(key) === digest)
  return same && kernel.size === program.wanted.size
}

function alter({ mode }: Rig, ...names: readonly string[]): void {
  for (const name of names) mode.kernel.set(objectOf(name), digestOf('another process'))
}

const refusal = { code: 'NP_TEST', message: 'no' }

describe('before the cluster was listed', () => {
  test('the kernel is neither read nor written nor watched', async () => {
    const { loop, mode, clock } = rig()
    loop.enqueue(serviceEvents('s1'))
    loop.suspect({ keys: 'all', by: 'another process' })
    loop.recompileAll()
    await clock.advance(3_600_000)
    expect(mode.calls).toEqual([])
    expect(mode.isWatched).toBe(false)
    expect(clock.pending()).toEqual([])
  })

  test('what an earlier run left stays until then, and the first run removes it', async () => {
    const made = rig()
    const { loop, mode, clock, reported } = made
    mode.kernel.set(objectKey('left over'), digestOf('old'))
    loop.enqueue(serviceEvents('s1'))
    await clock.advance(60_000)
    expect(mode.kernel.size).toBe(1)
    loop.setSynced()
    await clock.advance(0)
    expect(mode.calls).toEqual(['observe all', 'apply +1 -1'])
    expect(isRight(made)).toBe(true)
    expect(reported.drifted).toEqual([])
  })

  test('what an earlier run left and is still wanted is not written again', async () => {
    const first = await running(['s1', 's2'])
    const second = rig()
    for (const [key, digest] of first.mode.kernel) second.mode.kernel.set(key, digest)
    for (const name of ['s1', 's2']) second.loop.enqueue(serviceEvents(name))
    second.loop.setSynced()
    await second.clock.advance(0)
    expect(second.mode.calls).toEqual(['observe all'])
    expect(second.reported.applied).toEqual(['+0 -0 !0'])
  })

  test('a second setSynced has no effect', async () => {
    const { loop, mode, clock } = rig()
    loop.setSynced()
    loop.setSynced()
    await clock.advance(0)
    expect(mode.calls).toEqual(['observe all'])
  })
})

describe('changes', () => {
  test('the first is written at once', async () => {
    const made = await running(['s1'])
    await made.clock.advance(5_000)
    made.loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    await made.clock.advance(0)
    expect(made.mode.calls).toEqual(['apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })

  test('the following are written together when the period is over', async () => {
    const { loop, mode, clock } = await running(['s1'])
    await clock.advance(5_000)
    loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    await clock.advance(0)
    loop.enqueue(serviceEvents('s2'))
    loop.enqueue(serviceEvents('s3'))
    await clock.advance(999)
    expect(mode.calls).toEqual(['apply +1 -0'])
    await clock.advance(1)
    expect(mode.calls).toEqual(['apply +1 -0', 'apply +2 -0'])
  })

  test('that arrive during a run are written by the next', async () => {
    const made = await running(['s1'])
    await made.clock.advance(5_000)
    made.mode.duringApply = () => {
      made.mode.duringApply = () => {}
      made.loop.enqueue(serviceEvents('s2'))
    }
    made.loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    await made.clock.advance(999)
    expect(made.mode.calls).toEqual(['apply +1 -0'])
    await made.clock.advance(1)
    expect(made.mode.calls).toEqual(['apply +1 -0', 'apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })

  test('without an effect start no run', async () => {
    const { loop, mode, clock, reported } = await running(['s1'])
    loop.enqueue(serviceEvents('s1'))
    await clock.advance(5_000)
    expect(mode.calls).toEqual([])
    expect(reported.queued).toEqual([])
  })

  test('that are reverted before the run cost no transaction', async () => {
    const { loop, mode, clock, reported } = await running(['s1'])
    loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    loop.enqueue([endpointsEvent('s1', '10.0.0.1')])
    await clock.advance(5_000)
    expect(mode.calls).toEqual([])
    expect(reported.applied).toEqual(['+0 -0 !0'])
  })

  test('are reported as queued once until a run takes them', async () => {
    const { loop, clock, reported } = await running(['s1'])
    const at = clock.now()
    loop.enqueue(serviceEvents('s2'))
    await clock.advance(0)
    const later = clock.now() + 100
    await clock.advance(100)
    loop.enqueue(serviceEvents('s3'))
    loop.enqueue(serviceEvents('s4'))
    await clock.advance(5_000)
    expect(reported.queued).toEqual([at, later])
    expect(reported.applied).toEqual(['+1 -0 !0', '+2 -0 !0'])
  })

  test('of the configuration compile every Service again', async () => {
    const { loop, mode, clock, world } = await running(['s1', 's2'])
    world.node = { ...world.node, proxyName: 'another' }
    loop.recompileAll()
    await clock.advance(1_000)
    expect(mode.calls).toEqual(['apply +0 -2'])
  })
})

describe('onApplied', () => {
  test('is called when the effect of its events is in the kernel, not before', async () => {
    const { loop, mode, clock } = await running(['s1'])
    const seen: boolean[] = []
    loop.enqueue(serviceEvents('s2'), () => seen.push(mode.kernel.has(objectOf('s2'))))
    let ranBefore = 0
    mode.duringApply = () => {
      ranBefore = seen.length
    }
    await clock.advance(1_000)
    expect(ranBefore).toBe(0)
    expect(seen).toEqual([true])
  })

  test('is called although its events had no effect', async () => {
    const { loop, mode, clock } = await running(['s1'])
    let ran = 0
    loop.enqueue(serviceEvents('s1'), () => ran++)
    await clock.advance(1_000)
    expect(ran).toBe(1)
    expect(mode.calls).toEqual([])
  })

  test('waits for the next run when its events arrive during a run', async () => {
    const { loop, mode, clock } = await running(['s1'], { minPeriodMs: 100 })
    let ran = 0
    mode.duringApply = () => {
      mode.duringApply = () => {}
      loop.enqueue(serviceEvents('s3'), () => ran++)
    }
    loop.enqueue(serviceEvents('s2'))
    await clock.advance(99)
    expect(ran).toBe(0)
    await clock.advance(1)
    expect(ran).toBe(1)
  })

  test('waits while the kernel refuses every object', async () => {
    const { loop, mode, clock } = await running(['s1'])
    let ran = 0
    mode.refused.set(objectOf('s2'), refusal)
    loop.enqueue(serviceEvents('s2'), () => ran++)
    await clock.advance(0)
    expect(mode.calls).toEqual(['apply +1 -0'])
    expect(ran).toBe(0)
    mode.refused.clear()
    await clock.advance(5_000)
    expect(ran).toBe(1)
  })
})

describe('another process', () => {
  test('alters one object: that one is read, repaired and reported', async () => {
    const made = await running(['s1', 's2', 's3'])
    const { mode, clock, reported } = made
    alter(made, 's2')
    mode.reportForeign({ keys: [objectOf('s2')], by: 'iptables' })
    await clock.advance(0)
    expect(mode.calls).toEqual(['observe 1', 'apply +1 -0'])
    expect(reported.drifted).toEqual([`iptables: altered ${objectOf('s2')}`])
    expect(reported.applied).toEqual(['+1 -0 !0'])
    expect(isRight(made)).toBe(true)
  })

  test('removes everything: all is read and written again', async () => {
    const made = await running(['s1', 's2'])
    made.mode.kernel.clear()
    made.mode.reportForeign({ keys: 'all', by: 'firewalld' })
    await made.clock.advance(0)
    expect(made.mode.calls).toEqual(['observe all', 'apply +2 -0'])
    expect(made.reported.drifted).toEqual([
      `firewalld: missing ${objectOf('s1')}`,
      `firewalld: missing ${objectOf('s2')}`,
    ])
    expect(isRight(made)).toBe(true)
  })

  test('adds an object under a name of the mode: it is removed', async () => {
    const made = await running(['s1'])
    made.mode.kernel.set(objectKey('stray'), digestOf('x'))
    made.mode.reportForeign({ keys: [objectKey('stray')], by: 'iptables' })
    await made.clock.advance(0)
    expect(made.reported.drifted).toEqual(['iptables: stray object stray'])
    expect(isRight(made)).toBe(true)
  })

  test('changed nothing after all: nothing is written or reported', async () => {
    const { mode, clock, reported } = await running(['s1'])
    mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    await clock.advance(0)
    expect(mode.calls).toEqual(['observe 1'])
    expect(reported.drifted).toEqual([])
  })

  test('is reported several times: one read covers all reports', async () => {
    const { mode, clock } = await running(['s1', 's2'])
    mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    mode.reportForeign({ keys: [objectOf('s1'), objectOf('s2')], by: 'iptables' })
    await clock.advance(1_000)
    mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    mode.reportForeign({ keys: 'all', by: 'iptables' })
    mode.reportForeign({ keys: [objectOf('s2')], by: 'iptables' })
    await clock.advance(1_000)
    expect(mode.calls).toEqual(['observe 2', 'observe all'])
  })

  test('alters an object while the loop reads: it is read again', async () => {
    const made = await running(['s1', 's2'])
    const { mode, clock } = made
    mode.duringObserve = () => {
      mode.duringObserve = () => {}
      alter(made, 's2')
      mode.reportForeign({ keys: [objectOf('s2')], by: 'iptables' })
    }
    mode.reportForeign({ keys: 'all', by: 'iptables' })
    await clock.advance(1_000)
    expect(isRight(made)).toBe(true)
  })

  test('undoes the repair of a verification: the loop reads again until the repair stays', async () => {
    const made = await running(['s1'])
    const { mode, clock, reported } = made
    let again = 1
    mode.duringApply = () => {
      if (again-- > 0) alter(made, 's1')
    }
    alter(made, 's1')
    await clock.advance(30_000)
    expect(isRight(made)).toBe(true)
    expect(reported.normalised).toEqual([])
    expect(reported.drifted).toEqual([
      `verification: altered ${objectOf('s1')}`,
      `repair: altered ${objectOf('s1')}`,
    ])
  })

  test('is followed by a repair within 250 ms, whatever the period', async () => {
    const made = await running(['s1'], { minPeriodMs: 10_000 })
    const { loop, mode, clock } = made
    await clock.advance(10_000)
    mode.duringApply = () => {
      mode.duringApply = () => {}
      alter(made, 's1')
      mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    }
    loop.enqueue(serviceEvents('s2'))
    await clock.advance(249)
    expect(mode.calls).toEqual(['apply +1 -0'])
    await clock.advance(1)
    expect(mode.calls).toEqual(['apply +1 -0', 'observe 1', 'apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })

  test('changes an object without a report: the next verification repairs it', async () => {
    const made = await running(['s1'])
    alter(made, 's1')
    await made.clock.advance(28_999)
    expect(made.mode.calls).toEqual([])
    await made.clock.advance(1)
    expect(made.reported.drifted).toEqual([`verification: altered ${objectOf('s1')}`])
    expect(isRight(made)).toBe(true)
  })
})

describe('an object that the kernel prints in its own way', () => {
  async function normalised() {
    const made = await running(['s1', 's2'], { verifyPeriodMs: 10_000 })
    const { mode } = made
    mode.normalise = (key, digest) => (key === objectOf('s1') ? digestOf(`~${digest}`) : digest)
    alter(made, 's1')
    await made.clock.advance(60_000)
    return made
  }

  test('is not repaired for ever', async () => {
    const made = await normalised()
    expect(made.reported.normalised).toEqual([objectOf('s1')])
    forget(made)
    await made.clock.advance(3_600_000)
    expect(made.reported.drifted).toEqual([])
    expect(made.mode.calls.filter((call) => call.startsWith('apply'))).toEqual([])
    expect(made.mode.calls.length).toBeGreaterThan(100)
  })

  test('is repaired when another process alters it', async () => {
    const made = await normalised()
    const { mode, clock } = made
    const shown = mode.kernel.get(objectOf('s1'))
    forget(made)
    alter(made, 's1')
    mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    await clock.advance(1_000)
    expect(mode.kernel.get(objectOf('s1'))).toBe(shown)
    expect(made.reported.drifted).toEqual([`iptables: altered ${objectOf('s1')}`])
  })

  test('is not mistaken for one that another process alters after each repair', async () => {
    const made = await running(['s1'])
    for (let times = 0; times < 20; times++) {
      made.mode.kernel.set(objectOf('s1'), digestOf('flushed'))
      made.mode.reportForeign({ keys: [objectOf('s1')], by: 'firewalld' })
      await made.clock.advance(1_000)
    }
    expect(made.reported.normalised).toEqual([])
    expect(isRight(made)).toBe(true)
  })
})

describe('a refused object', () => {
  test('is tried again with growing delays, and does not delay other objects', async () => {
    const made = await running(['s1'])
    const { loop, mode, clock, reported } = made
    mode.refused.set(objectOf('s2'), refusal)
    loop.enqueue([...serviceEvents('s2'), ...serviceEvents('s3')])
    await clock.advance(0)
    expect(reported.applied).toEqual(['+2 -0 !1'])
    expect(mode.kernel.has(objectOf('s3'))).toBe(true)
    forget(made)
    await clock.advance(7_500)
    expect(mode.calls).toEqual(['apply +1 -0', 'apply +1 -0', 'apply +1 -0'])
    mode.refused.clear()
    await clock.advance(8_000)
    expect(isRight(made)).toBe(true)
    expect(made.tracker.isSettled).toBe(true)
  })

  test('is not tried by runs before its delay is over', async () => {
    const { loop, mode, clock } = await running(['s1'], { minPeriodMs: 0 })
    mode.refused.set(objectOf('s2'), refusal)
    loop.enqueue(serviceEvents('s2'))
    await clock.advance(0)
    loop.enqueue(serviceEvents('s3'))
    await clock.advance(0)
    expect(mode.calls).toEqual(['apply +1 -0', 'apply +1 -0'])
  })
})

describe('a kernel that cannot be read or written', () => {
  test('is reported, and read again after a second', async () => {
    const made = rig({ minPeriodMs: 0 })
    const { loop, mode, clock, reported } = made
    mode.observeErrors.push(new Error('no iptables'), new Error('still none'))
    loop.enqueue(serviceEvents('s1'))
    loop.setSynced()
    await clock.advance(999)
    expect(mode.calls).toEqual(['observe all'])
    expect(reported.failed).toEqual(['no iptables'])
    await clock.advance(1_001)
    expect(mode.calls).toEqual(['observe all', 'observe all', 'observe all', 'apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })

  test('once, and then has every object: the next run is reported as applied', async () => {
    const { loop, mode, clock, reported } = await running(['s1'])
    mode.observeErrors.push(new Error('busy'))
    reported.applied.length = 0
    loop.suspect({ keys: 'all', by: 'test' })
    await clock.advance(250)
    expect(reported).toMatchObject({ failed: ['busy'], applied: [] })
    await clock.advance(1_000)
    expect(reported.applied).toEqual(['+0 -0 !0'])
  })

  test('after a report of another process: the reported objects are read again', async () => {
    const made = await running(['s1', 's2'])
    alter(made, 's1')
    made.mode.observeErrors.push(new Error('busy'))
    made.mode.reportForeign({ keys: [objectOf('s1')], by: 'iptables' })
    await made.clock.advance(999)
    expect(made.mode.calls).toEqual(['observe 1'])
    await made.clock.advance(1)
    expect(made.mode.calls.slice(0, 3)).toEqual(['observe 1', 'observe 1', 'apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })

  test('is reported, then everything is read and written', async () => {
    const made = await running(['s1'])
    made.mode.applyErrors.push(new Error('spawner is gone'))
    let ran = 0
    made.loop.enqueue(serviceEvents('s2'), () => ran++)
    await made.clock.advance(0)
    expect(made.reported.failed).toEqual(['spawner is gone'])
    expect(ran).toBe(0)
    await made.clock.advance(1_000)
    expect(made.mode.calls).toEqual(['apply +1 -0', 'observe all', 'apply +1 -0'])
    expect(ran).toBe(1)
    expect(isRight(made)).toBe(true)
  })

  test('after an uncertain result: everything is read again', async () => {
    const made = await running(['s1', 's2'])
    const { loop, mode, clock } = made
    mode.isUncertain = true
    mode.duringApply = () => {
      mode.duringApply = () => {}
      mode.kernel.delete(objectOf('s2'))
    }
    loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    await clock.advance(1_000)
    expect(mode.calls).toEqual(['apply +1 -0', 'observe all', 'apply +1 -0'])
    expect(isRight(made)).toBe(true)
  })
})

describe('verification', () => {
  test('reads everything once in its period', async () => {
    const { mode, clock } = await running(['s1'])
    await clock.advance(88_999)
    expect(mode.calls).toEqual(['observe all', 'observe all'])
    await clock.advance(1)
    expect(mode.calls).toEqual(['observe all', 'observe all', 'observe all'])
  })

  test('takes no more than a 400th of the time, however slow the kernel is', async () => {
    const { mode, clock } = await running(['s1'])
    mode.duringObserve = () => clock.elapse(1_000)
    await clock.advance(29_000)
    expect(mode.calls).toEqual(['observe all'])
    await clock.advance(399_000)
    expect(mode.calls).toEqual(['observe all'])
    await clock.advance(2_000)
    expect(mode.calls).toEqual(['observe all', 'observe all'])
  })
})

describe('flows', () => {
  const key = serviceKey('ns/dns')
  const ports = [{ name: 'http', protocol: 'UDP', port: 53, nodePort: 0 }] as const
  const appears = { kind: 'service', key, value: service({ key, ports }) } as const
  const goes = { kind: 'service', key, value: undefined } as const

  test('are deleted after the kernel was written', async () => {
    const { loop, mode, clock, flows, reported } = await running([])
    loop.enqueue([appears])
    await clock.advance(1_000)
    flows.length = 0
    forget({ mode, reported } as Rig)
    let cutBefore = 0
    mode.duringApply = () => {
      cutBefore = flows.length
    }
    loop.enqueue([goes])
    await clock.advance(1_000)
    expect(cutBefore).toBe(0)
    expect(mode.calls).toEqual(['apply +0 -1'])
    expect(flows).toMatchObject([[{ port: 53, protocol: 'UDP' }]])
    expect(reported.flowsCut).toEqual([1])
  })

  test('that could not be deleted are tried again a second later, though nothing else changes', async () => {
    const { loop, mode, clock, flows, cutErrors, reported } = await running([])
    loop.enqueue([appears])
    await clock.advance(1_000)
    flows.length = 0
    cutErrors.push(new Error('no netlink'))
    loop.enqueue([goes])
    await clock.advance(999)
    expect(reported).toMatchObject({ failed: [], flowsFailed: ['no netlink'] })
    expect(flows).toEqual([])
    mode.calls.length = 0
    await clock.advance(1_000)
    expect(flows).toMatchObject([[{ port: 53, protocol: 'UDP' }]])
    expect(mode.calls).toEqual([])
  })

  test('of a change that the kernel could not take are not tried in between', async () => {
    const { loop, mode, clock, flows } = await running([])
    loop.enqueue([appears])
    await clock.advance(1_000)
    flows.length = 0
    mode.calls.length = 0
    mode.applyErrors.push(new Error('no netlink'), new Error('no netlink'))
    loop.enqueue([goes])
    await clock.advance(1_999)
    expect(mode.calls).toEqual(['apply +0 -1', 'observe all', 'apply +0 -1'])
    expect(flows).toEqual([])
    await clock.advance(1_000)
    expect(flows).toMatchObject([[{ port: 53, protocol: 'UDP' }]])
  })

  test('over TCP are deleted a second after their backend left, but not those to one that is back', async () => {
    const { loop, clock, flows, reported } = await running(['s1'])
    loop.enqueue([endpointsEvent('s1', '10.0.0.8')])
    await clock.advance(0)
    expect(flows).toEqual([])
    loop.enqueue([endpointsEvent('s1', '10.0.0.9', '10.0.0.8')])
    await clock.advance(1_000)
    expect(flows).toMatchObject([
      [{ protocol: 'TCP', keep: new Set(['10.0.0.8:8080', '10.0.0.9:8080']) }],
    ])
    expect(reported.flowsCut).toEqual([1])
    await clock.advance(60_000)
    expect(flows).toHaveLength(1)
  })

  test('over TCP are deleted rarely where that takes long', async () => {
    const made = await running(['s1'])
    const { loop, clock, flows } = made
    made.cut.during = () => clock.elapse(2_000)
    loop.enqueue([endpointsEvent('s1', '10.0.0.8')])
    await clock.advance(1_000)
    expect(flows).toHaveLength(1)
    loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
    await clock.advance(99_000)
    expect(flows).toHaveLength(1)
    await clock.advance(2_000)
    expect(flows).toHaveLength(2)
  })
})

describe('stop', () => {
  test('waits for the run in progress and leaves the kernel as it is', async () => {
    const made = await running(['s1'])
    const { loop, mode, clock } = made
    let finish = () => {}
    mode.duringApply = () => new Promise<void>((resolve) => (finish = resolve))
    loop.enqueue(serviceEvents('s2'))
    await clock.advance(1_000)
    let stopped = false
    const stopping = loop.stop().then(() => (stopped = true))
    await clock.advance(1_000)
    expect(stopped).toBe(false)
    finish()
    await stopping
    expect(isRight(made)).toBe(true)
  })

  test('leaves no timer and no watch, and later events cause no call', async () => {
    const { loop, mode, clock } = await running(['s1'])
    await loop.stop()
    expect(clock.pending()).toEqual([])
    expect(mode.isWatched).toBe(false)
    loop.enqueue(serviceEvents('s3'))
    loop.suspect({ keys: 'all', by: 'another process' })
    loop.recompileAll()
    await clock.advance(3_600_000)
    expect(mode.calls).toEqual([])
  })

  test('leaves what was queued unwritten', async () => {
    const { loop, mode, clock } = await running(['s1'])
    loop.enqueue(serviceEvents('s2'))
    await loop.stop()
    await clock.advance(3_600_000)
    expect(mode.calls).toEqual([])
  })

  test('before setSynced is final', async () => {
    const { loop, mode, clock } = rig()
    await loop.stop()
    loop.setSynced()
    await clock.advance(60_000)
    expect(mode.isWatched).toBe(false)
    expect(mode.calls).toEqual([])
  })
})

test('a draining backend is removed when its deadline is over', async () => {
  const { loop, mode, clock, world } = await running(['s1'])
  world.node = { ...world.node, drainSeconds: { TCP: 20, UDP: 0, SCTP: 0 } }
  loop.recompileAll()
  await clock.advance(2_000)
  forget({ mode, reported: {} } as Rig)
  loop.enqueue([endpointsEvent('s1', '10.0.0.9')])
  await clock.advance(19_999)
  expect(mode.calls).toEqual(['apply +1 -0'])
  await clock.advance(1)
  expect(mode.calls).toEqual(['apply +1 -0', 'apply +1 -0'])
})
