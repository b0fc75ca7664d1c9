import { describe, expect, test } from 'vitest'
import type { IpAddress } from '../lib/ip.ts'
import { Election, type LeaseWrite, type SeenLease } from './election.ts'
import { electionTiming, FAST_TIMING } from './election-timing.ts'

const IP = '192.0.2.50' as IpAddress
const TIMING = { ...FAST_TIMING, settleDelay: 1_000 }
const ORDER = ['node-1', 'node-2', 'node-3']

function seen(more: Partial<SeenLease> = {}): SeenLease {
  return {
    version: '10',
    holder: 'node-1',
    renewal: 500,
    duration: 800,
    requestedBy: '',
    releasedBy: '',
    ...more,
  }
}

/** An election that has seen a Lease at 0. */
function election(node: string, lease: SeenLease | undefined, order = ORDER): Election {
  const created = new Election(node, TIMING)
  created.plan(new Map([[IP, order]]))
  created.observe(IP, lease, 0)
  return created
}

const writesAt = (of: Election, now: number) => of.step(now).writes
/** When it next does something, and what. */
function nextWrite(of: Election, from = 0): readonly [at: number, write: LeaseWrite] {
  for (let now = from; ; ) {
    const { writes, nextAt } = of.step(now)
    if (writes.length > 0) return [now, writes[0]!]
    if (nextAt === Number.POSITIVE_INFINITY) throw new Error('it waits for ever')
    now = nextAt
  }
}

/** Has a write succeed; returns what the API server has then. */
function succeed(of: Election, write: LeaseWrite, now: number): SeenLease {
  const version = String(Number(write.version ?? '0') + 1)
  const lease = { ...write.record, version }
  of.finish(IP, { kind: 'written', lease }, now)
  return lease
}

/** node-1, which holds the Lease since 0. */
function holder(): Election {
  const of = election('node-1', seen({ holder: '' }))
  const [write] = writesAt(of, 0)
  succeed(of, write!, 20)
  of.applied(of.step(20).answers)
  return of
}

describe('a holder', () => {
  test('answers from its write on, until the deadline after the start of the write', () => {
    const of = election('node-1', seen({ holder: '' }))
    const { writes, answers } = of.step(100)
    expect(writes).toEqual([
      {
        ip: IP,
        reason: 'acquire',
        version: '10',
        record: { holder: 'node-1', renewal: 501, duration: 800, requestedBy: '', releasedBy: '' },
      },
    ])
    expect(answers.size).toBe(0)
    succeed(of, writes[0]!, 450)
    expect(of.step(450).answers).toEqual(new Map([[IP, 700]]))
    expect(of.step(700).answers.size).toBe(0)
  })

  test('renews after the interval, each time until the deadline after its start', () => {
    const of = holder()
    const [at, write] = nextWrite(of, 20)
    expect([at, write.reason, write.record.renewal]).toEqual([250, 'renew', 502])
    expect(writesAt(of, 260)).toEqual([])
    succeed(of, write, 300)
    expect(of.step(300).answers.get(IP)).toBe(850)
    expect(nextWrite(of, 300)[0]).toBe(500)
  })

  test('tries again soon after a failure, and stops at its deadline; it returns with another renewal', () => {
    const of = holder()
    nextWrite(of, 20)
    of.finish(IP, { kind: 'failed' }, 300)
    const [at, write] = nextWrite(of, 300)
    expect([at, write.reason]).toEqual([350, 'renew'])
    expect(of.step(599.9).answers.size).toBe(1)
    expect(of.step(600).answers.size).toBe(0)
    succeed(of, write, 960)
    // The renewal began more than the deadline before.
    const { writes, answers } = of.step(960)
    expect(answers.size).toBe(0)
    succeed(of, writes[0]!, 980)
    expect(of.step(980).answers.get(IP)).toBe(1_560)
  })

  test('stops at once when another node has taken the Lease', () => {
    const of = holder()
    of.watched(IP, seen({ version: '12', holder: 'node-2', renewal: 900 }), 100)
    expect(of.step(100)).toMatchObject({ answers: new Map(), writes: [] })
  })

  test('releases the Lease only when its responder has stopped', () => {
    const of = holder()
    of.drain()
    const stopping = of.step(100)
    expect([stopping.answers.size, stopping.writes]).toEqual([0, []])
    of.applied(stopping.answers)
    const [, release] = nextWrite(of, 101)
    expect(release).toMatchObject({ reason: 'release', record: { holder: '', renewal: 502 } })
    expect(of.isIdle).toBe(false)
    succeed(of, release, 120)
    expect(of.isIdle).toBe(true)
    expect(of.step(120)).toEqual({
      writes: [],
      answers: new Map(),
      nextAt: Number.POSITIVE_INFINITY,
    })
  })

  test('releases it at its deadline, if the responder does not report that it stopped', () => {
    const of = holder()
    of.drain()
    const [at, { reason }] = nextWrite(of, 100)
    expect([at, reason]).toEqual([600, 'release'])
  })

  test('what the responder reports of an earlier set does not count', () => {
    const of = election('node-1', seen({ holder: '' }))
    const { writes, answers: earlier } = of.step(0)
    succeed(of, writes[0]!, 20)
    of.step(20)
    of.applied(earlier)
    of.drain()
    expect(nextWrite(of, 100)[0]).toBe(600)
  })

  test('does not answer between a release that failed and the next renewal', () => {
    const of = holder()
    of.plan(new Map([[IP, ['node-2']]]))
    of.applied(of.step(100).answers)
    expect(nextWrite(of, 100)[1].reason).toBe('release')
    of.finish(IP, { kind: 'failed' }, 150)
    of.plan(new Map([[IP, ORDER]]))
    expect(of.step(150).answers.size).toBe(0)
    const [at, { reason }] = nextWrite(of, 150)
    expect([at, reason]).toEqual([200, 'release'])
  })

  test('hands over to a preferred node that requests it, and not to another', () => {
    const of = election('node-2', seen({ holder: '' }))
    const [, acquire] = nextWrite(of)
    const mine = succeed(of, acquire, 300)
    for (const requestedBy of ['node-3', 'unknown']) {
      of.watched(IP, { ...mine, version: '20', requestedBy }, 310)
      expect(of.step(310).answers.size).toBe(1)
    }
    of.watched(IP, { ...mine, version: '21', requestedBy: 'node-1' }, 320)
    const { answers } = of.step(320)
    expect(answers.size).toBe(0)
    of.applied(answers)
    const [, release] = nextWrite(of, 320)
    expect(release.record).toMatchObject({ holder: '', requestedBy: 'node-1' })
  })

  test('a version that is older than the known one changes nothing, unless it was read', () => {
    const of = holder()
    of.watched(IP, seen({ version: '9', holder: 'node-3' }), 100)
    expect(of.step(100).answers.size).toBe(1)
    of.observe(IP, seen({ version: '9', holder: 'node-3' }), 110)
    expect(of.step(110).answers.size).toBe(0)
  })

  test('an answer to a write that comes after later reports does not undo them', () => {
    const of = election('node-1', seen({ holder: '' }))
    const [write] = writesAt(of, 0)
    of.watched(IP, seen({ version: '13', holder: 'node-2', renewal: 700 }), 10)
    succeed(of, write!, 20)
    expect([of.step(20).answers.size, of.holder(IP)]).toEqual([0, 'node-2'])
  })

  test('a new process of the node renews before it answers', () => {
    const of = election('node-1', seen())
    const { writes, answers } = of.step(0)
    expect([writes[0]?.reason, answers.size]).toEqual(['renew', 0])
  })
})

describe('another node', () => {
  test.each([
    ['the first', 'node-1', 'gone', 800],
    ['the second', 'node-2', 'gone', 1_100],
    ['the one after the holder', 'node-2', 'node-1', 800],
    ['the third, after the first as holder', 'node-3', 'node-1', 1_100],
  ])('%s takes over after the duration, and its turn', (_, node, holding, at) => {
    const of = new Election(node, { ...TIMING, settleDelay: 1e6 })
    of.plan(new Map([[IP, ORDER]]))
    of.observe(IP, seen({ holder: holding }), 0)
    const [when, write] = nextWrite(of)
    expect([when, write.reason, write.version]).toEqual([at, 'acquire', '10'])
  })

  test('waits for the duration that the holder wrote, if that is longer', () => {
    const of = election('node-2', seen({ duration: 15_000 }))
    expect(nextWrite(of)[0]).toBe(15_000)
  })

  test('waits anew after each renewal that it sees, but not after a request', () => {
    const of = election('node-2', seen())
    of.watched(IP, seen({ version: '11', renewal: 600 }), 700)
    of.watched(IP, seen({ version: '12', renewal: 600, requestedBy: 'node-9' }), 900)
    of.observe(IP, seen({ version: '12', renewal: 600, requestedBy: 'node-9' }), 1_000)
    expect(nextWrite(of, 900)[0]).toBe(1_500)
  })

  test('takes a released Lease in its turn, at once if it requested it', () => {
    const free = seen({ holder: '' })
    expect(ORDER.map((node) => nextWrite(election(node, free))[0])).toEqual([0, 300, 600])
    expect(nextWrite(election('node-3', seen({ holder: '', requestedBy: 'node-3' })))[0]).toBe(0)
  })

  test('creates a Lease without a holder, and takes it after the duration', () => {
    const of = election('node-1', undefined)
    const [at, create] = nextWrite(of)
    expect([at, create]).toEqual([
      0,
      {
        ip: IP,
        reason: 'create',
        version: undefined,
        record: { holder: '', renewal: 0, duration: 800, requestedBy: '', releasedBy: '' },
      },
    ])
    succeed(of, create, 30)
    const [when, acquire] = nextWrite(of, 30)
    expect([when, acquire.reason]).toEqual([830, 'acquire'])
  })

  test('requests the Lease after it was preferred to the holder for a while, once', () => {
    const lease = (now: number) =>
      seen({ version: String(10 + now), holder: 'node-3', renewal: now })
    const of = election('node-2', lease(0))
    for (let now = 0; now < 1_000; now += 250) {
      of.watched(IP, lease(now), now)
      expect(writesAt(of, now)).toEqual([])
    }
    const [at, request] = nextWrite(of, 750)
    expect([at, request.reason, request.record]).toEqual([
      1_000,
      'request',
      { holder: 'node-3', renewal: 750, duration: 800, requestedBy: 'node-2', releasedBy: '' },
    ])
    succeed(of, request, 1_010)
    expect(nextWrite(of, 1_010)[1].reason).toBe('acquire')
  })

  test.each([
    [
      'it held the Lease itself',
      (of: Election) => of.watched(IP, seen({ version: '80', holder: 'node-2' }), 2_000),
    ],
    ['it could not announce', (of: Election) => of.plan(new Map([[IP, ['node-1', 'node-3']]]))],
  ])('waits as long again after %s', (_, interrupt) => {
    const lease = (version: string) => seen({ version, holder: 'node-3', duration: 1e6 })
    const of = election('node-2', lease('10'))
    expect(nextWrite(of)[0]).toBe(1_000)
    of.finish(IP, { kind: 'failed' }, 1_010)
    interrupt(of)
    of.step(2_000)
    of.finish(IP, { kind: 'failed' }, 2_010)
    of.plan(new Map([[IP, ORDER]]))
    of.watched(IP, lease('90'), 5_000)
    const [at, { reason }] = nextWrite(of, 5_000)
    expect([at, reason]).toEqual([6_000, 'request'])
  })

  test('leaves the Lease to a preferred node that has requested it', () => {
    const of = election(
      'node-2',
      seen({ holder: 'node-3', requestedBy: 'node-1', duration: 9_000 }),
    )
    expect(nextWrite(of)[1].reason).toBe('acquire')
  })

  test('does nothing before the Lease was read, while it may not announce, and while it drains', () => {
    const unread = new Election('node-1', TIMING)
    unread.plan(new Map([[IP, ORDER]]))
    const unfit = election('node-9', seen({ holder: '' }))
    const draining = election('node-1', seen({ holder: '' }))
    draining.drain()
    for (const of of [unread, unfit, draining]) {
      expect(of.step(1e6)).toEqual({
        writes: [],
        answers: new Map(),
        nextAt: Number.POSITIVE_INFINITY,
      })
    }
  })

  test('tries a refused write again with the Lease that it read', () => {
    const of = election('node-1', seen({ holder: '' }))
    writesAt(of, 0)
    of.observe(IP, seen({ version: '14', holder: '', renewal: 800 }), 40)
    of.finish(IP, { kind: 'conflict' }, 40)
    expect(nextWrite(of, 40)).toMatchObject([40, { version: '14', record: { renewal: 801 } }])
  })
})

test.each([
  [{ renewDeadline: 641 }, '80 %'],
  [{ renewInterval: 401 }, 'renewInterval'],
  [{ rankDelay: 0 }, 'more than 0'],
  [{ leaseDuration: Number.NaN }, 'more than 0'],
])('durations that guarantee nothing are refused: %j', (wrong, reason) => {
  expect(() => new Election('node-1', { ...TIMING, ...wrong })).toThrow(reason)
})

test('the durations that are not chosen follow from those that are', () => {
  expect(electionTiming(FAST_TIMING)).toEqual(FAST_TIMING)
  const chosen = { leaseDuration: 15_000, renewDeadline: 12_001, renewInterval: 2_000 }
  expect(() => electionTiming(chosen)).toThrow('80 %')
})

test('forgets an address that it neither holds nor writes', () => {
  const of = holder()
  expect(of.forget(IP)).toBe(false)
  of.watched(IP, seen({ version: '12', holder: 'node-2', renewal: 900 }), 100)
  expect([of.forget(IP), of.holder(IP)]).toEqual([true, undefined])
  const writing = election('node-1', seen({ holder: '' }))
  writing.step(0)
  expect(writing.forget(IP)).toBe(false)
})

describe('the node that released an address', () => {
  /** node-1 takes the address from a Lease like this. */
  function taken(lease: Partial<SeenLease>): Election {
    const of = election('node-1', seen(lease))
    const [at, write] = nextWrite(of, 0)
    expect(write.reason).toBe('acquire')
    succeed(of, write, at)
    return of
  }

  test('is known to the holder while it holds the address, and after a renewal', () => {
    const of = taken({ holder: '', releasedBy: 'node-2' })
    expect(of.releasedBy(IP)).toBe('node-2')
    const [at, renewal] = nextWrite(of, 1)
    succeed(of, renewal, at)
    expect(of.releasedBy(IP)).toBe('node-2')
    of.drain()
    const [[later, release], own] = [nextWrite(of, at), 'node-1']
    const lease = succeed(of, release, later)
    expect([release.reason, lease.releasedBy, of.releasedBy(IP)]).toEqual([
      'release',
      own,
      undefined,
    ])
  })

  test('is never a node that was lost, nor the holder itself', () => {
    expect(taken({ holder: 'node-2', releasedBy: 'node-3' }).releasedBy(IP)).toBeUndefined()
    expect(taken({ holder: '', releasedBy: 'node-1' }).releasedBy(IP)).toBeUndefined()
    expect(taken({ holder: '' }).releasedBy(IP)).toBeUndefined()
    expect(
      election('node-1', seen({ holder: 'node-2', releasedBy: 'node-3' })).releasedBy(IP),
    ).toBe(undefined)
  })
})
