import { beforeAll, describe, expect, test } from 'vitest'
import type { RealServerState, TrafficCounters } from '../../../src/kernel/ipvs/ipvs.ts'
import { CONFORMANCE, runCase } from '../../../src/kernel/ipvs/testing/conformance.ts'
import { FakeIpvs } from '../../../src/kernel/ipvs/testing/fake-ipvs.ts'
import { runInside } from './run-inside.ts'

interface Written {
  readonly saved: readonly string[]
  readonly read: readonly string[]
}

interface Seen {
  readonly info: unknown
  readonly results: readonly unknown[]
  readonly bothWays: { readonly refused: unknown; readonly ours: Written; readonly theirs: Written }
  readonly schedulers: { readonly names: unknown; readonly seen: unknown }
  readonly traffic: {
    readonly services: readonly { readonly counters: TrafficCounters }[]
    readonly servers: readonly RealServerState[]
    readonly said: readonly string[]
    readonly revived: unknown
    readonly zeroed: unknown
  }
  readonly timeouts: unknown
  readonly overrun: unknown
}

/** An address of our own to connect to, and routes to virtual servers without addresses. */
const SETUP = `
ip link set lo up
ip link add d0 type dummy
ip addr add 10.1.0.4/24 dev d0
ip link set d0 up
ip route add local 10.96.0.0/16 dev d0`
  .trim()
  .split('\n')
  .map((line) => line.split(' '))

let seen: Seen
beforeAll(async () => {
  seen = (await runInside('ipvs.script.ts', { setup: SETUP })) as Seen
})

describe('the kernel does as the list of conformance and the fake say', () => {
  test.each(CONFORMANCE.map((conformance, at) => ({ name: conformance.name, conformance, at })))(
    '$name',
    async ({ conformance, at }) => {
      expect(seen.results[at]).toMatchObject({ refused: conformance.refused })
      expect(seen.results[at]).toEqual(await runCase(new FakeIpvs(), conformance))
    },
  )
})

test('what we write ipvsadm reads, and what ipvsadm writes we read', () => {
  const { refused, ours, theirs } = seen.bothWays
  expect(refused).toEqual([])
  expect(ours.saved).toEqual([
    '-A --sctp-service 10.96.0.9:9 -s lc',
    '-A -f 1234 -6 -s mh -b mh-port',
    '-A -f 1234 -s rr',
    '-A -t 10.96.0.1:80 -s wrr -p 300 -M 255.255.255.0',
    '-A -u [fd00::1]:53 -s sh -p 60 -M 64 -o -b sh-fallback,sh-port',
    '-a -f 1234 -r 10.1.0.4:0 -g -w 1',
    '-a -t 10.96.0.1:80 -r 10.1.0.4:8080 -m -w 3',
    '-a -t 10.96.0.1:80 -r 10.1.0.6:80 -g -w 0',
    '-a -t 10.96.0.1:80 -r [fd00::5]:80 -i -w 1 --tun-type ipip',
    '-a -u [fd00::1]:53 -r [fd00::4]:5353 -m -w 1',
  ])
  expect(theirs).toEqual(ours)
  // ipvsadm does not save thresholds
  expect(theirs.read.join()).toContain('"upperThreshold":100,"lowerThreshold":50')
})

test('every scheduler of the kernel', () => {
  expect(seen.schedulers.seen).toEqual(seen.schedulers.names)
  expect(seen.info).toEqual({ version: '1.2.1', connectionTableSize: expect.any(Number) })
})

test('counters and connections are those that ipvsadm says', () => {
  const { services, servers, said } = seen.traffic
  const [tcp, udp] = services.map(({ counters }) => Object.values(counters).join(' '))
  expect(said).toContain(`TCP 10.96.0.1:80 ${tcp}`)
  expect(said).toContain(`UDP 10.96.0.1:53 ${udp}`)
  expect(services[0]?.counters).toMatchObject({ connections: 3, outgoingPackets: 3 })
  expect(services[1]?.counters).toMatchObject({ connections: 1, incomingBytes: 20 + 8 + 5 })
  const lines = servers.map((server) => {
    const { ip, port, weight, persistentConnections, activeConnections, inactiveConnections } =
      server
    const connections = `${persistentConnections} ${activeConnections} ${inactiveConnections}`
    return `-> ${ip}:${port} ${weight} ${connections}`
  })
  expect(lines).toEqual(['-> 10.1.0.4:8080 1 1 3 0', '-> 10.1.0.5:53 1 0 0 1'])
  expect(said).toEqual(expect.arrayContaining(lines))
})

test('connections outlive their real server; counters can be zeroed', () => {
  expect(seen.traffic.revived).toEqual({ without: [], again: [1], anew: [1] })
  expect(seen.traffic.zeroed).toEqual({
    known: true,
    unknown: false,
    before: [0, 1],
    after: [0, 0],
  })
})

test('timeouts: 0 is none, and too long ones are refused', () => {
  expect(seen.timeouts).toEqual({
    before: { tcp: 900, tcpFin: 120, udp: 300 },
    after: { tcp: 100, tcpFin: 120, udp: 30 },
    said: 'Timeout (tcp tcpfin udp): 100 120 30',
    refused: 'NodeProxyError: ipvs: timeouts refused: EINVAL',
  })
})

test('refusals that overrun the socket are all reported, in order', () => {
  expect(seen.overrun).toEqual({ first: 0, second: 700, inOrder: true, services: 700 })
})
