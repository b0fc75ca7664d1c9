import { expect, test } from 'vitest'
import { judgeAll } from '../verdict.ts'
import type { NftablesCell, Stall, Wait } from './results.ts'
import { afterAnswer, NFTABLES_TARGETS } from './targets.ts'

function cell(shape: string, measured: NftablesCell['measured']): NftablesCell {
  const [services = 0, endpoints = 0] = shape.split('x').map(Number)
  return { services, endpoints, measured }
}

function verdicts(...cells: readonly NftablesCell[]) {
  const place = ({ services, endpoints }: NftablesCell) => `${services}x${endpoints}`
  const all = judgeAll(NFTABLES_TARGETS, cells, place)
  return all.map(({ target, at, measured, limit, met }) => ({ target, at, measured, limit, met }))
}

function wait(...longest: readonly number[]): Wait {
  return { count: longest, p99: longest, longest }
}

test('changes are judged at every size from the answer, by their median, p99 and processor time', () => {
  const writeMs = [1, 2, 3, 4]
  const replace = { ms: [2, 3, 4, 13], writeMs, cpuSecondsEach: 0.001 }
  expect(verdicts(cell('50000x2', { replace }), cell('7x3', { replace }))).toMatchObject([
    { at: '50000x2', measured: 1, limit: 2, met: true },
    { at: '7x3', measured: 1, limit: 2, met: true },
    { at: '50000x2', measured: 9, limit: 8, met: false },
    { at: '7x3', measured: 9, limit: 8, met: false },
    { at: '50000x2', measured: 1, limit: 2, met: true },
    { at: '7x3', measured: 1, limit: 2, met: true },
  ])
})

test('the full sync from the list has a limit by raw, that from the start one of two shapes', () => {
  const rest = { cpuSeconds: [], transactions: 1, bytes: 1, longestMs: [] }
  const measured = {
    fullSync: { fromStart: [2_400, 9_000, 2_600], fromListed: [700, 750, 800], cpuSeconds: [] },
    rawFullSync: { ms: [100, 200, 300], ...rest },
  }
  const cells = ['10000x10', '50000x2', '5000x50', '10000x2'].map((each) => cell(each, measured))
  expect(verdicts(...cells)).toMatchObject([
    ...cells.map(() => ({ measured: 750, limit: 760, met: true })),
    { at: '10000x10', measured: 2_600, limit: 2_000, met: false },
    { at: '50000x2', measured: 2_600, limit: 6_000, met: true },
  ])
})

test('a burst counts from the last answer', () => {
  const burst = { changes: 100, ms: [100, 200, 300], writeMs: [90, 130, 241] }
  expect(afterAnswer(burst)).toEqual([10, 70, 59])
  expect(verdicts(cell('100x10', { burst }))).toMatchObject([
    { measured: 59, limit: 60, met: true },
  ])
})

test('connections are judged at 50,000 Services, through the slower of the first and the last', () => {
  const of = (p50: number) => ({ p50, p90: 99, connections: 1 })
  const firstPacket = { direct: of(20), first: of(26), last: of(24) }
  const all = verdicts(cell('10000x10', { firstPacket }), cell('50000x2', { firstPacket }))
  expect(all).toMatchObject([{ at: '50000x2', measured: 26, limit: 25, met: false }])
})

test('memory has a limit at two sizes of ten endpoints, idle processor time everywhere', () => {
  const memory = {
    afterSync: 0,
    daemonPeak: 120 * 1_024,
    daemonResident: 0,
    daemonAnonymous: 0,
    heapUsed: 0,
    largestChild: 0,
  }
  const idle = { seconds: 30, cpuPercent: 0.3, quietPercent: 0, machinePercent: 0 }
  const cells = ['1000x10', '10000x10', '1000x2'].map((each) => cell(each, { memory, idle }))
  expect(verdicts(...cells)).toMatchObject([
    { at: '1000x10', measured: 120, limit: 100, met: false },
    { at: '10000x10', measured: 120, limit: 190, met: true },
    ...cells.map(() => ({ measured: 0.3, limit: 0.2, met: false })),
  ])
})

test('of what others wait for, the longest of all rounds counts, at 10,000 × 10', () => {
  const quiet = { transaction: wait(99), list: wait(99), packet: wait(99) }
  const coldStart = { transaction: wait(10, 51, 20), list: wait(40, 50), packet: wait(3) }
  const stall: Stall = { quiet, coldStart }
  const all = verdicts(cell('10000x10', { stall }), cell('50000x2', { stall }))
  expect(
    all.map(({ target, measured, met }) => [target.split(' waits')[0], measured, met]),
  ).toEqual([
    ['a transaction of others', 51, false],
    ['a list of others', 50, true],
    ['a packet', 3, true],
  ])
})

test('nothing is judged that was not measured', () => {
  expect(verdicts(cell('10000x10', {}), cell('50000x2', {}))).toEqual([])
})
