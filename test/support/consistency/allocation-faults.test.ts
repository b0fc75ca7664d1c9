import { expect, test } from 'vitest'
import { allocationFaults } from './allocation-faults.ts'
import { NOTHING, sampleLine } from './sample.ts'

function spec(ip: string, nodePort?: number) {
  const port = { port: 80, protocol: 'TCP', ...(nodePort === undefined ? {} : { nodePort }) }
  return { clusterIPs: [ip], ports: [port] }
}

test('what was given back may be given again, also in the same Service', () => {
  const changes = [
    sampleLine('ADDED a 1', spec('10.0.0.1', 30_000)),
    sampleLine('MODIFIED a 2', spec('10.0.0.1', 30_000)),
    sampleLine('ADDED h 3', spec('None')),
    sampleLine('ADDED g 4', spec('None')),
    sampleLine('DELETED a 5'),
    sampleLine('ADDED b 6', spec('10.0.0.1', 30_000)),
  ]
  expect(allocationFaults(NOTHING, changes)).toEqual([])
})

test('an address and a port of two Services are found', () => {
  const changes = [
    sampleLine('ADDED a 1', spec('10.0.0.1', 30_000)),
    sampleLine('ADDED b 2', spec('10.0.0.1')),
    sampleLine('ADDED c 3', spec('10.0.0.3', 30_000)),
  ]
  expect(allocationFaults(NOTHING, changes)).toEqual([
    '10.0.0.1 is held by a and b at 2',
    'TCP 30000 is held by a and c at 3',
  ])
})
