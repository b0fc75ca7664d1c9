import { beforeAll, expect, test } from 'vitest'
import { run } from '../../support/doctor/broken-node.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { whileSending } from '../../support/doctor/while-sending.ts'
import { deploy } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** First packets that connection tracking loses, because their source ports clash after masquerading. */
const lab = useLab()
const POD = '10.0.0.2'
const VIP = '172.30.41.1'
const DNS = { name: 'dns', port: 53, protocol: 'UDP' } as const

beforeAll(async () => {
  const endpoints = [{ ip: '10.180.2.1', node: 'far' }]
  await deploy(lab(), { key: 'ns/dns', clusterIP: VIP, endpoints, ports: [DNS] })
})

/** A pod sends a hundred lookups, each from a port of its own, which counts as lost when no answer comes. */
const LOOKUPS = {
  ...({ protocol: 'UDP', source: POD, destination: VIP, port: DNS.port } as const),
  attempts: 100,
  parallel: 50,
  timeoutMs: 300,
}

test('a rule that masquerades has fewer source ports than there are lookups', async () => {
  const rule = 'POSTROUTING -t nat -s 10.0.0.0/24 -p udp -j MASQUERADE --to-ports 4000-4004'
  await run(lab(), `iptables -I ${rule}`)
  try {
    const found = nodeFindings(lab(), '--seconds', '2')
    const [[first], kinds] = await whileSending(lab(), found, { place: 'pod', ...LOOKUPS })
    expect(kinds).toContain('timeout')
    expect(first).toMatchObject({ check: 'lost-insertions', symptom: 'Connection timeout' })
    expect(first?.cause).toMatch(
      /loses first packets, \d{2,} in 2 s: a rule gives several of them one source port: iptables-\w+ nat POSTROUTING: -A POSTROUTING -s 10\.0\.0\.0\/24 -p udp -j MASQUERADE --to-ports 4000-4004$/,
    )
    expect(first?.evidence.join('\n')).toMatch(/has counted [1-9]\d* connections so far/)
  } finally {
    await run(lab(), `iptables -D ${rule}`)
  }
  await run(lab(), 'conntrack -F')
})

test('the same lookups by a rule that takes any port, at random: nothing is lost, nothing found', async () => {
  const rule = 'POSTROUTING -t nat -s 10.0.0.0/24 -p udp -j MASQUERADE --random-fully'
  await run(lab(), `iptables -I ${rule}`)
  try {
    const sending = { ...LOOKUPS, place: 'pod', timeoutMs: 10_000 } as const
    const found = nodeFindings(lab(), '--seconds', '2')
    const [findings, kinds] = await whileSending(lab(), found, sending)
    expect([findings, kinds]).toEqual([[], new Set(['answered'])])
  } finally {
    await run(lab(), `iptables -D ${rule}`)
  }
})
