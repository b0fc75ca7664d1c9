import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { SERVICES } from '../../support/doctor/services.ts'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** A node in ipvs mode; and a full table of connections, in a kernel of its own because the limit is one for all namespaces. */
const lab = useLab()
beforeAll(() => deployAll(lab(), SERVICES))

const MAX = '/proc/sys/net/netfilter/nf_conntrack_max'
const isOwnKernel = readFileSync('/proc/cpuinfo', 'utf8').includes('User Mode Linux')

test('nothing is found on a healthy node', async () => {
  expect(await nodeFindings(lab(), '--connect')).toEqual([])
})

test.runIf(isOwnKernel)('the table of connections is full', async () => {
  const usual = readFileSync(MAX, 'latin1')
  const attempt = { source: '203.0.113.2', destination: '172.30.41.1', port: 80, timeoutMs: 500 }
  try {
    writeFileSync(MAX, '40')
    const sent = await lab().connect('outside', { ...attempt, attempts: 80 })
    expect(sent.map(({ kind }) => kind)).toContain('timeout')
    // Entries end while the doctor looks, so connections go on to fill the table.
    const { agent } = await lab().site('outside', attempt.source)
    const client = { ...attempt, protocol: 'TCP' } as const
    const load = await agent.call('loadStart', { ...client, intervalMs: 20 })
    let findings: Awaited<ReturnType<typeof nodeFindings>>
    try {
      findings = await nodeFindings(lab())
    } finally {
      await agent.call('loadStop', load)
    }
    const [first] = findings
    expect(first).toMatchObject({ check: 'conntrack-full', symptom: 'Connection timeout' })
    expect(first?.cause).toMatch(/is full: \d+ of 40 entries/)
    expect(first?.evidence.join('\n')).toMatch(/since the start [1-9]\d*/)
  } finally {
    writeFileSync(MAX, usual)
  }
})
