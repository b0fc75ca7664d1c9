import { expect, test } from 'vitest'
import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import { FakeConntrack } from './fake-conntrack.ts'

const flow = { family: 4, protocol: 'UDP', ip: '10.96.0.10', port: 53 } as const

test('the fake deletes the flows that the filters match', async () => {
  const conntrack = new FakeConntrack()
  const kept = { ...flow, backend: '10.1.0.5:53' }
  const direct = { ...flow, ip: '192.0.2.1', backend: '192.0.2.1:53' }
  conntrack.flows = [{ ...flow, backend: '10.1.0.4:53' }, kept, direct]
  const ip = parseIp('10.96.0.10') as IpAddress
  const filter = {
    family: 4,
    protocol: 'UDP',
    ip,
    port: 53,
    keep: new Set(['10.1.0.5:53']),
  } as const
  expect(await conntrack.cut([filter])).toEqual({ deleted: 1 })
  expect(conntrack.flows).toEqual([kept, direct])
  expect(await conntrack.cut([{ ...filter, ip: 'node', keep: new Set() }])).toEqual({ deleted: 2 })
  expect(conntrack.flows).toEqual([])
})
