import { describe, expect, test } from 'vitest'
import type { ServiceMessage } from '../data/node-api.ts'
import { type Order, orderedBy } from '../display/selection.ts'
import {
  ALL_SERVICES,
  backendRows,
  backendSample,
  isProblem,
  type SortKey,
  selectServices,
  serviceRows,
  TEXTS,
} from './services.ts'
import type { TrafficCounts } from './traffic-rates.ts'

const SERVICES: readonly ServiceMessage[] = [
  { service: 'shop/web', entries: 2, backends: 5, status: 'Done' },
  { service: 'shop/api', entries: 1, backends: 9, status: 'Pending' },
  { service: 'mail/web', status: 'Conflict', problem: { code: 'NP_X', message: 'belongs to b/c' } },
]

const sortedBy = (order: Order<SortKey>, sort: SortKey) => orderedBy(order, sort, TEXTS)

function counts(connections: number, bytesIn: number): TrafficCounts {
  return { connections, connectionsNow: undefined, bytesIn, bytesOut: undefined }
}

describe('rows', () => {
  const before = { at: 0, counts: new Map([['shop/web', counts(10, 100)]]) }
  const after = {
    at: 2_000,
    counts: new Map([
      ['shop/web', counts(30, 700)],
      ['shop/api', counts(5, 5)],
    ]),
  }
  const rows = serviceRows(SERVICES, [before, after])
  const names = (selection: Partial<typeof ALL_SERVICES>) =>
    selectServices(rows, { ...ALL_SERVICES, ...selection }).map(({ service }) => service)

  test('have rates where both readings have the Service', () => {
    expect(rows.map(({ rates }) => rates)).toEqual([
      { connections: 10, bytes: 300 },
      { connections: undefined, bytes: undefined },
      { connections: undefined, bytes: undefined },
    ])
  })

  test.each([
    [{ text: 'WEB' }, ['mail/web', 'shop/web']],
    [{ text: 'shop web' }, ['shop/web']],
    [{ text: 'pending' }, ['shop/api']],
    [{ text: 'b/c' }, ['mail/web']],
    [{ text: 'none of them' }, []],
    [{ onlyProblems: true }, ['mail/web', 'shop/api']],
    [{ sort: 'backends', isDescending: true }, ['shop/api', 'shop/web', 'mail/web']],
    [{ sort: 'bytes', isDescending: true }, ['shop/web', 'shop/api', 'mail/web']],
  ] as const)('%j selects %j', (selection, expected) => {
    expect(names(selection)).toEqual(expected)
  })

  test('a Service that is forwarded without a problem is none', () => {
    expect(rows.map(isProblem)).toEqual([false, true, true])
  })

  test('a second click turns the order round; numbers begin with the largest', () => {
    const byBytes = sortedBy(ALL_SERVICES, 'bytes')
    expect(byBytes).toMatchObject({ sort: 'bytes', isDescending: true })
    expect(sortedBy(byBytes, 'bytes')).toMatchObject({ sort: 'bytes', isDescending: false })
    expect(sortedBy(byBytes, 'service')).toMatchObject({ sort: 'service', isDescending: false })
  })
})

test('a backend has its own counters, its share, and what is special about it', () => {
  const entry = {
    id: 'shop/web:http/TCP/4',
    backends: [
      { ip: '10.0.0.1', port: 80, weight: 1, isLocal: true, inClusterPool: true },
      { ip: '10.0.0.2', port: 80, weight: 1, drainingUntil: '5' },
      { ip: 'fd00::1', port: 80, weight: 1 },
    ],
  }
  const sample = (at: number, first: string, second: string) =>
    backendSample(at, [
      { entry: entry.id, ip: '10.0.0.1', port: 80, traffic: { connections: first, bytesIn: '7' } },
      { entry: entry.id, ip: '10.0.0.2', port: 80, traffic: { connections: second } },
      { entry: 'shop/web:other/TCP/4', ip: 'fd00::1', port: 80, traffic: { connections: '50' } },
    ])
  const rows = backendRows(entry, [sample(0, '10', '30'), sample(1_000, '30', '10')])
  expect(rows).toEqual([
    expect.objectContaining({
      address: '10.0.0.1:80',
      marks: ['on this node'],
      share: 0.75,
      connections: 30,
      connectionsPerSecond: 20,
      bytes: 7,
    }),
    // Its counter began anew, so that there is no rate.
    expect.objectContaining({ marks: ['drains'], share: 0.25, connectionsPerSecond: undefined }),
    expect.objectContaining({
      address: '[fd00::1]:80',
      marks: ['not used here'],
      connections: undefined,
      share: undefined,
    }),
  ])
})
