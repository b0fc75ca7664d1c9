import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { predict } from '../../support/explain/predict.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import type { Attempt, LabHost } from '../../support/lab/lab.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/**
 * Routes and policy rules that lead the packets to one of two backends nowhere: what a client gets, what explain says of
 * it, and what the doctor finds.
 */
const lab = useLab()
beforeAll(async () => {
  // Of the two limits of the kernel, the one that knows the type of a message.
  await run(lab(), 'sysctl -q net.ipv4.icmp_ratemask=0')
  await deployAll(lab(), SERVICES)
})

/** Milliseconds: silence, and the time in which the error for the second SYN has come: the first may come too early for TCP. */
const SILENT_MS = 400
const REPEATED_MS = 5_000
const FAR = '10.180.2.0/24'
const undo: string[] = []
afterEach(async () => {
  for (const command of undo.splice(0)) await run(lab(), command)
})

async function apply(what: string): Promise<void> {
  await run(lab(), what)
  undo.push(what.replace(' add ', ' del '))
}

/**
 * Hosts with so few connections each that the other limit is never met: for a route, the kernel sends each source five
 * errors, and one a second then (error_burst and error_cost of /proc/sys/net/ipv4/route, which no namespace has for itself).
 */
const PODS = ['10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6']
const CONNECTIONS = 4
const TARGET = { destination: '172.30.41.1', port: 80 } as const

/** What clients get, each kind once. */
async function kinds(from: LabHost, sources: readonly string[], attempt: Omit<Attempt, 'source'>) {
  const seen = new Set<string>()
  for (const source of sources) {
    for (const one of await lab().connect(from, { ...attempt, source }))
      seen.add(one.kind === 'failed' ? one.code : one.kind)
  }
  return seen
}

const DEAD_ENDS = [
  {
    name: 'an unreachable route',
    made: `ip -4 route add unreachable ${FAR}`,
    error: 'EHOSTUNREACH',
    how: 'icmp-host-unreachable',
    named:
      /^the route "unreachable 10\.180\.2\.0\/24" leads packets to backends of Services nowhere/,
  },
  {
    name: 'a route that prohibits',
    made: `ip -4 route add prohibit ${FAR}`,
    error: 'EHOSTUNREACH',
    how: 'icmp-prohibited',
    named: /^the route "prohibit 10\.180\.2\.0\/24" leads/,
  },
  {
    name: 'a blackhole',
    made: `ip -4 route add blackhole ${FAR}`,
    error: 'timeout',
    how: undefined,
    named: /^the route "blackhole 10\.180\.2\.0\/24" leads/,
  },
  {
    name: 'a policy rule',
    made: `ip -4 rule add priority 60 to ${FAR} unreachable`,
    error: 'ENETUNREACH',
    how: 'icmp-no-route',
    named: /^the policy rule \(priority 60\) leads/,
  },
] as const

describe.each(DEAD_ENDS)('$name', ({ made, error, how, named }) => {
  test('explain says what a client gets, and the doctor which route it is', async () => {
    await apply(made)
    const timeoutMs = error === 'timeout' ? SILENT_MS : REPEATED_MS
    const few = { ...TARGET, attempts: CONNECTIONS, parallel: CONNECTIONS, timeoutMs }
    expect(await kinds('pod', PODS, few)).toEqual(new Set(['answered', error]))
    const many = { ...TARGET, attempts: 40, parallel: 40, timeoutMs: SILENT_MS }
    expect(await kinds('node', ['192.168.0.2'], many)).toEqual(new Set(['answered', 'timeout']))
    const ofPod = await predict(lab(), {
      from: 'pod',
      src: '10.0.0.2',
      dst: TARGET.destination,
      port: 80,
    })
    expect(ofPod).toContainEqual(
      expect.objectContaining(how === undefined ? { kind: 'silent' } : { kind: 'refused', how }),
    )
    const ofNode = await predict(lab(), {
      from: 'node',
      src: '192.168.0.2',
      dst: TARGET.destination,
      port: 80,
    })
    expect(ofNode).toContainEqual(expect.objectContaining({ kind: 'silent' }))
    const [first, ...others] = await nodeFindings(lab())
    expect([first?.check, others]).toEqual(['unusable-route', []])
    expect(first?.cause).toMatch(named)
    expect(first?.commands).toEqual([
      made.replace(' add ', ' del ').replace(/ to \S+ unreachable/, ''),
    ])
  })
})
