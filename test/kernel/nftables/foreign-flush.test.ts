import { beforeAll, expect, test } from 'vitest'
import { deploy } from '../../support/flows/deploy.ts'
import { expectFlow } from '../../support/flows/expect-flow.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** Other programs that change all of nf_tables. */
const lab = useLab({ config: { mode: 'nftables' } })

const CLIENT = {
  protocol: 'TCP',
  source: '10.0.0.2',
  destination: '172.30.61.1',
  port: 80,
  timeoutMs: 10_000,
} as const
const FLOW = { from: 'pod', src: CLIENT.source, dst: CLIENT.destination, dport: 80 } as const
const ANSWERED = { outcome: 'deliver', endpoints: ['10.180.0.1:80', '10.180.2.2:80'] } as const
const DEADLINE = { interval: 20 } as const

beforeAll(() =>
  deploy(lab(), {
    key: 'ns/kept',
    clusterIP: CLIENT.destination,
    endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
  }),
)

const nft = (...args: readonly string[]) => lab().node.namespace.exec(['nft', ...args])
const elements = () => nft('list', 'map', 'ip', 'node-proxy', 'services').catch(() => '')

/** Objects put right again since the daemon started. */
const repairs = async () => sumOf(await lab().daemon.metrics(), 'nodeproxy_drift_repairs_total')

test('connections that talk while a firewall flushes all rules, again and again, go on', async () => {
  const { agent } = await lab().site('pod', CLIENT.source)
  const { id } = await agent.call('holdOpen', { ...CLIENT, count: 20, everyMs: 5 })
  for (let flushes = 0; flushes < 10; flushes++) {
    await nft('flush', 'ruleset')
    await expect.poll(elements, DEADLINE).toContain(CLIENT.destination)
  }
  const { refused, lost } = await agent.call('holdCheck', { id })
  await agent.call('holdEnd', { id, how: 'reset' })
  expect([refused, lost]).toEqual([[], []])
  await expectFlow(lab(), { ...FLOW, retrySeconds: 5, expect: ANSWERED })
})

/** More notifications than the buffer of a socket holds, of a table that is not ours. */
function manyElements(): string {
  const addresses = Array.from(
    { length: 100_000 },
    (_, n) => `11.${n >> 16}.${(n >> 8) & 255}.${n & 255}`,
  )
  return `table ip other { set many { type ipv4_addr; elements = { ${addresses.join(', ')} }; }; }`
}

test('a change whose notification was lost is found all the same', async () => {
  const before = await repairs()
  lab().daemon.signal('SIGSTOP')
  await lab().node.namespace.exec(['nft', '-f', '-'], { input: manyElements() })
  await nft('delete', 'element', 'ip', 'node-proxy', 'services', '{ 172.30.61.1 . tcp . 80 }')
  lab().daemon.signal('SIGCONT')
  await expect.poll(elements, DEADLINE).toContain(CLIENT.destination)
  await expectFlow(lab(), { ...FLOW, retrySeconds: 5, expect: ANSWERED })
  await expect.poll(repairs, DEADLINE).toBeGreaterThan(before)
})
