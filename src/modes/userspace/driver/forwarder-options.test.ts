import { expect, test } from 'vitest'
import { configuration } from '../../../nodeproxy/testing/wiring.ts'
import { forwarderOptions, type Machine } from './open-userspace.ts'

const MACHINE: Machine = { processors: 4, openFiles: 20_000, hasSyscalls: true }

function optionsFor(values: Record<string, unknown> = {}, machine: Partial<Machine> = {}) {
  const listening = { entry: 'redirect', families: [4, 6] } as const
  return forwarderOptions(configuration(values), listening, { ...MACHINE, ...machine })
}

test('the defaults', () => {
  expect(optionsFor()).toEqual({
    dataPath: 'native',
    workers: 4,
    listening: 'transparent',
    families: [4, 6],
    portRange: undefined,
    limits: {
      connections: 9_488,
      perClient: 4_744,
      connectMs: 1_000,
      retryMs: 5_000,
      attempts: 3,
      idleMs: 86_400_000,
      udpIdleMs: 30_000,
      drainMs: 900_000,
      affinityClients: 1_048_576,
    },
  })
})

test('a range of ports is the forwarder’s as well', () => {
  expect(optionsFor({ portRange: { first: 4_000, last: 4_010 } }).portRange).toEqual({
    first: 4_000,
    last: 4_010,
  })
})

test('the entry "bind" listens at its bindings', () => {
  const listening = { entry: 'bind', families: [4] } as const
  const { listening: at, families } = forwarderOptions(configuration(), listening, MACHINE)
  expect([at, families]).toEqual(['bound', [4]])
})

test.each([
  ['auto', 'bind', true, 'native'],
  ['auto', 'bind', false, 'javascript'],
  ['auto', 'redirect', false, 'native'],
  ['native', 'bind', false, 'native'],
  ['javascript', 'redirect', true, 'javascript'],
] as const)(
  'data path %s to %s, system calls: %s, is %s',
  (configured, entry, hasSyscalls, dataPath) => {
    const config = configuration({ 'userspace.dataPath': configured })
    const options = forwarderOptions(config, { entry, families: [4] }, { ...MACHINE, hasSyscalls })
    expect(options.dataPath).toBe(dataPath)
  },
)

test.each([
  [0, 2, 2],
  [0, 96, 8],
  [12, 2, 12],
])('%d workers on %d processors are %d', (configured, processors, workers) => {
  expect(optionsFor({ 'userspace.workers': configured }, { processors }).workers).toBe(workers)
})

test.each([
  [0, 1_024, 256],
  [0, Number.POSITIVE_INFINITY, 1_048_576],
  [7, 1_024, 7],
  [1_000_000, 1_024, 256],
])('%d connections with %d open files are %d', (configured, openFiles, connections) => {
  const { limits } = optionsFor({ 'userspace.maxConnections': configured }, { openFiles })
  expect(limits.connections).toBe(connections)
})

test.each([
  [0, 100, 50],
  [0, 1, 1],
  [10, 100, 10],
])('%d of one client, of %d, are %d', (configured, all, perClient) => {
  const { limits } = optionsFor({
    'userspace.maxConnections': all,
    'userspace.maxConnectionsPerClient': configured,
  })
  expect(limits.perClient).toBe(perClient)
})
