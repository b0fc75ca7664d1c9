import { describe, expect, test } from 'vitest'
import type { StatusResponseJson } from '../../../inspection/generated/inspection_pb.ts'
import { ALL_NODES, firstWords, frequencies, selectNodes } from '../views/nodes-view.ts'
import { compareNodes, disagreements } from './compare-nodes.ts'
import { newestNode } from './follow-services.ts'
import { answered, failed, type NodeReading, nodeRemedy } from './node-reading.ts'
import { nodeRows } from './node-row.ts'

const WELL: StatusResponseJson = {
  isReady: true,
  mode: 'a',
  version: '0.1.0',
  services: 4,
  entries: 9,
  programming: { count: 3, p50Ms: 5, p99Ms: 50 },
}
const REFUSED = { message: 'connection refused', code: '', status: 503 }

function reading(change: StatusResponseJson = {}): NodeReading {
  return answered(undefined, { ...WELL, ...change })
}

function object(name: string, ready = 'True') {
  const conditions = [{ type: 'Ready', status: ready, reason: 'Kubelet', message: 'silent' }]
  return { metadata: { name }, status: { conditions } }
}

/** The rows of nodes by name. */
function rowsOf(readings: Readonly<Record<string, NodeReading | undefined>>) {
  const known = Object.entries(readings).flatMap(([name, one]) =>
    one === undefined ? [] : [[name, one] as const],
  )
  const rows = nodeRows(
    Object.keys(readings).map((name) => object(name)),
    new Map(known),
  )
  return Object.fromEntries(rows.map((row) => [row.name, row]))
}

describe('a row', () => {
  test('says what is wrong, the most fundamental first', () => {
    const rows = rowsOf({
      a: reading(),
      b: reading({ isReady: false, reasons: ['no watch is open'], warnings: ['no IPv6'] }),
      c: reading({ problems: [{ entry: 's/w:http/TCP/4', message: 'belongs to s/x' }] }),
      d: reading({ refusals: [{ object: 'chain x', message: 'EINVAL' }] }),
      e: failed(reading({ warnings: ['no IPv6'] }), REFUSED),
      f: undefined,
    })
    expect(Object.values(rows).map(({ state, problems }) => [state, ...problems])).toEqual([
      ['ready'],
      ['not ready', 'no watch is open', 'no IPv6'],
      ['problems', 's/w:http/TCP/4: belongs to s/x'],
      ['problems', 'the kernel refuses chain x: EINVAL'],
      ['no answer', 'connection refused'],
      ['loading'],
    ])
    expect(rows['e']?.status?.mode).toBe('a')
  })

  test('of a node that answers again has no failure', () => {
    const again = answered(failed(reading(), REFUSED), WELL)
    expect(again).toEqual({ status: WELL, before: WELL, failure: undefined, failures: 0 })
    expect(rowsOf({ a: again })['a']).toMatchObject({ state: 'ready', problems: [] })
  })

  test('a status without readiness is not ready: proto leaves out what is false', () => {
    const { isReady: _, ...rest } = WELL
    expect(rowsOf({ a: answered(undefined, rest) })['a']?.state).toBe('not ready')
  })

  test('has what the Node object says of the machine', () => {
    const [row] = nodeRows([object('a', 'Unknown')], new Map([['a', reading()]]))
    expect(row).toMatchObject({
      state: 'not ready',
      problems: ['the Node is not Ready (Kubelet: silent)'],
    })
  })
})

describe('differences', () => {
  const others = { a: reading(), b: reading(), c: reading() }

  test('from most nodes are named', () => {
    const rows = rowsOf({ ...others, d: reading({ mode: 'b', entries: 8 }) })
    expect(rows['d']).toMatchObject({
      state: 'differs',
      differences: ['mode b; 3 of 4 nodes have a', '8 ports; 3 of 4 nodes have 9'],
    })
    expect(rows['a']).toMatchObject({ state: 'ready', differences: [] })
  })

  test.each<StatusResponseJson>([
    { mode: 'b' },
    { version: '0.2.0' },
    { services: 5 },
    { entries: 8 },
  ])('are of each of the fields: %j', (change) => {
    expect(rowsOf({ ...others, d: reading(change) })['d']?.differences).toHaveLength(1)
  })

  test('Nodes that are gone have no vote', () => {
    const gone = ['x', 'y', 'z', 'w'].map((name) => [name, reading({ mode: 'b' })] as const)
    const readings = new Map([...Object.entries(others), ...gone])
    const rows = nodeRows(
      Object.keys(others).map((name) => object(name)),
      readings,
    )
    expect(rows.flatMap(({ differences }) => differences)).toEqual([])
  })

  test('count when two readings have them: nodes are read one after the other', () => {
    const late = answered(answered(undefined, WELL), { ...WELL, entries: 8 })
    expect(rowsOf({ ...others, d: late })['d']?.differences).toEqual([])
    const lasting = answered(late, { ...WELL, entries: 8 })
    expect(rowsOf({ ...others, d: lasting })['d']?.differences).toHaveLength(1)
  })

  test('silent nodes have no vote', () => {
    const silent = failed(reading({ version: '0.2.0' }), REFUSED)
    const rows = rowsOf({ a: reading(), b: silent, c: silent })
    expect(rows['a']?.differences).toEqual([])
    expect(rows['b']?.differences).toEqual(['version 0.2.0; 1 of 1 node have 0.1.0'])
  })

  test('different values, the most frequent one first', () => {
    expect(frequencies(['a', 'b', 'b'])).toEqual([
      ['b', 2],
      ['a', 1],
    ])
  })
})

describe('without a majority the nodes disagree', () => {
  const disputedOf = (readings: Readonly<Record<string, NodeReading>>) =>
    disagreements(compareNodes(Object.entries(readings)))

  test('one of two, two of four: the groups are named, and no node is the one that differs', () => {
    const two = { a: reading(), b: reading({ version: '0.2.0' }) }
    expect(disputedOf(two)).toEqual(['version: 0.1.0 on a; 0.2.0 on b'])
    expect(rowsOf(two)['a']).toMatchObject({
      state: 'differs',
      differences: ['version 0.1.0; the nodes disagree: 1 of 2 nodes have it'],
    })
    const other = reading({ mode: 'b', entries: 1_000 })
    const four = { a: other, b: reading(), c: other, d: reading() }
    expect(disputedOf(four)).toEqual([
      'mode: b on a, c; a on b, d',
      'number of ports: 1,000 on a, c; 9 on b, d',
    ])
    expect(disputedOf({ ...four, e: reading() })).toEqual([])
  })

  test('in the order of their names, whichever answers first', () => {
    const late = { 'node-10': reading(), 'node-9': reading({ mode: 'b' }) }
    expect(disputedOf(late)).toEqual(['mode: b on node-9; a on node-10'])
  })

  test('many nodes and many values are counted', () => {
    const readings = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [`n${at}`, reading({ mode: at < 6 ? 'a' : `m${at}` })]),
    )
    expect(disputedOf(readings)).toEqual([
      'mode: a on n0, n1, n2, n3 and 2 more; m6 on n6; m7 on n7; m8 on n8; 3 other values',
    ])
  })

  test('of the last two readings: nodes are read one after the other', () => {
    const first = answered(reading(), { ...WELL, entries: 8 })
    expect(disputedOf({ a: first, b: reading() })).toEqual([])
    expect(rowsOf({ a: first, b: reading() })['a']?.state).toBe('ready')
    expect(disputedOf({ a: answered(first, { ...WELL, entries: 8 }), b: reading() })).toHaveLength(
      1,
    )
  })

  test('what a silent node had takes no part', () => {
    const silent = failed(reading({ version: '0.2.0' }), REFUSED)
    expect(disputedOf({ a: reading(), b: silent })).toEqual([])
    expect(disputedOf({ b: silent })).toEqual([])
  })
})

describe('the table', () => {
  const rows = Object.values(
    rowsOf({
      a: reading(),
      b: reading({ waitingMs: '900' }),
      c: reading({ mode: 'b' }),
      d: reading({ isReady: false, reasons: ['x', 'y'] }),
      e: failed(undefined, REFUSED),
    }),
  )
  const names = (change: Partial<typeof ALL_NODES>) =>
    selectNodes(rows, { ...ALL_NODES, ...change }).map(({ name }) => name)

  test.each([
    [{}, ['e', 'd', 'c', 'a', 'b']],
    [{ onlyProblems: true }, ['e', 'd', 'c']],
    [{ text: 'REFUSED' }, ['e']],
    [{ text: 'mode b' }, ['c']],
    [{ sort: 'waiting', isDescending: true }, ['b', 'a', 'c', 'd', 'e']],
    [{ sort: 'p99', isDescending: false }, ['e', 'a', 'b', 'c', 'd']],
  ] as const)('%j', (change, expected) => {
    expect(names(change)).toEqual(expected)
  })

  test('is sorted by numbers as numbers', () => {
    const status = (
      waitingMs: string,
      driftRepaired: string,
      p50Ms: number,
    ): StatusResponseJson => ({
      waitingMs,
      driftRepaired,
      programming: { count: 1, p50Ms, p99Ms: 50 },
    })
    const numbers = Object.values(
      rowsOf({ a: reading(status('10000', '9', 7)), b: reading(status('900', '10', 6)) }),
    )
    const first = (sort: 'waiting' | 'drift' | 'p50') =>
      selectNodes(numbers, { ...ALL_NODES, sort })[0]?.name
    expect([first('waiting'), first('drift'), first('p50')]).toEqual(['b', 'a', 'b'])
  })

  test('finds a node by its name, and one that is not read yet is no problem', () => {
    const known = Object.values(rowsOf({ 'node-7': reading(), 'node-8': undefined }))
    const found = (change: Partial<typeof ALL_NODES>) =>
      selectNodes(known, { ...ALL_NODES, ...change }).map(({ name }) => name)
    expect(found({ text: 'NODE-7' })).toEqual(['node-7'])
    expect(found({ onlyProblems: true })).toEqual([])
  })

  test('counts problems and differences', () => {
    const both = rowsOf({ a: reading(), b: reading(), c: reading({ mode: 'b', warnings: ['x'] }) })
    expect(firstWords(both['c']!)).toBe('x (and 1 more)')
  })

  test('counts what it has no place for', () => {
    expect(rows.map(firstWords)).toEqual([
      '',
      '',
      'mode b; 3 of 4 nodes have a',
      'x (and 1 more)',
      'connection refused',
    ])
  })
})

test('the Services are those of the node with the newest state, and it is kept', () => {
  const readings = (change: Readonly<Record<string, NodeReading>>) =>
    new Map(Object.entries({ a: reading(), b: reading(), ...change }))
  expect(newestNode(new Map(), 'a')).toBeUndefined()
  expect(newestNode(readings({}), undefined)).toBe('a')
  expect(newestNode(readings({}), 'b')).toBe('b')
  expect(newestNode(readings({ b: reading({ waitingMs: '5' }) }), 'b')).toBe('a')
  expect(newestNode(readings({ a: reading({ isReady: false }) }), 'a')).toBe('b')
  expect(newestNode(readings({ a: failed(reading(), REFUSED) }), 'a')).toBe('b')
})

test.each([
  [0, '', /no answer in time/, ''],
  [403, '', /may not get nodes\/proxy/, 'node-inspection-reader'],
  [404, '', /is gone/, ''],
  [503, '', /Once that is done/, '/api/v1/nodes/node-7/proxy/'],
  [504, '', /Once that is done/, '/api/v1/nodes/node-7/proxy/'],
  [503, 'NP_INSPECTION_BUSY', /read again/, ''],
])('status %i with code "%s": what to do', (status, code, text, command) => {
  const remedy = nodeRemedy('node-7', { message: '', status, code })
  expect(remedy.text).toMatch(text)
  expect(remedy.command).toContain(command)
})

test('a command has no name that a shell would read as more than a word', () => {
  const failure = { message: '', status: 503, code: '' }
  expect(nodeRemedy('$(reboot)', failure).command).toContain('/nodes/NAME/')
})
