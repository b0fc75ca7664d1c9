import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { predict } from '../../support/explain/predict.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/**
 * Routes and policy rules that lead the packets to one of two backends nowhere: what a client gets, what explain says of
 * it, and what the doctor finds.
 */
const lab = useLab()
beforeAll(async () => {
  // Otherwise a client gets six of these errors, and one a second then.
  await run(lab(), 'sysctl -q net.ipv4.icmp_ratelimit=0')
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

const POD = { from: 'pod', src: '10.0.0.2' } as const
const NODE = { from: 'node', src: '192.168.0.2' } as const

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
    const to = { destination: '172.30.41.1', port: 80, attempts: 40, parallel: 40 }
    const kinds = async ({ from, src }: typeof POD | typeof NODE, timeoutMs: number) =>
      new Set(
        (await lab().connect(from, { ...to, source: src, timeoutMs })).map((one) =>
          one.kind === 'failed' ? one.code : one.kind,
        ),
      )
    expect(await kinds(POD, error === 'timeout' ? SILENT_MS : REPEATED_MS)).toEqual(
      new Set(['answered', error]),
    )
    expect(await kinds(NODE, SILENT_MS)).toEqual(new Set(['answered', 'timeout']))
    const ofPod = await predict(lab(), { ...POD, dst: '172.30.41.1', port: 80 })
    expect(ofPod).toContainEqual(
      expect.objectContaining(how === undefined ? { kind: 'silent' } : { kind: 'refused', how }),
    )
    const ofNode = await predict(lab(), { ...NODE, dst: '172.30.41.1', port: 80 })
    expect(ofNode).toContainEqual(expect.objectContaining({ kind: 'silent' }))
    const [first, ...others] = await nodeFindings(lab())
    expect([first?.check, others]).toEqual(['unusable-route', []])
    expect(first?.cause).toMatch(named)
    expect(first?.commands).toEqual([
      made.replace(' add ', ' del ').replace(/ to \S+ unreachable/, ''),
    ])
  })
})
