import { beforeEach, expect, test } from 'vitest'
import { deploy, objectsOf } from '../support/flows/deploy.ts'
import { isIpvs } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Changes of the Service; a long measurement sets more: each takes some tens of milliseconds. */
const CHANGES = Number(process.env['NP_CHANGES'] ?? 120)
const VIP = '172.30.16.1'
const NODE_PORT = 30_160
const KEY = 'ns/changing'
/** Odd ones on this node, even ones beyond it. All of them serve all the while. */
const ENDPOINTS = [1, 2, 3, 4, 5, 6].map((serial) => {
  const isLocal = serial % 2 === 1
  return { ip: `10.180.${isLocal ? 0 : 2}.${serial}`, node: isLocal ? 'test-node' : 'far' }
})
const BATCH = { protocol: 'TCP', attempts: 200, parallel: 16, timeoutMs: 10_000 } as const

const lab = useLab()
beforeEach(() => lab().reset())

/** Another number of endpoints each time, one at least; other weights, affinity and policy now and then. */
function deployment(round: number) {
  const count = 1 + ((round * 5) % ENDPOINTS.length)
  const first = round % ENDPOINTS.length
  const endpoints = [...ENDPOINTS, ...ENDPOINTS].slice(first, first + count)
  const weight = 1 + (round % 3)
  return {
    ...{ key: KEY, clusterIP: VIP, endpoints },
    ports: [{ name: '', port: 80, nodePort: NODE_PORT, protocol: 'TCP' as const }],
    weights: Object.fromEntries(endpoints.map(({ ip }, index) => [ip, index === 0 ? weight : 1])),
    spec: {
      type: 'NodePort' as const,
      sessionAffinity: hasAffinity(round) ? ('ClientIP' as const) : ('None' as const),
      externalTrafficPolicy: 'Cluster' as const,
    },
  }
}

/** In ipvs mode such a change may cost a connection: docs/semantics.md, what a mode cannot do. */
function hasAffinity(round: number): boolean {
  return !isIpvs() && round % 8 < 4
}

test('no connection is refused or lost while the endpoints of its Service change', async () => {
  await deploy(lab(), { ...deployment(0), endpoints: ENDPOINTS })
  const pod = await lab().site('pod', '10.0.0.2')
  let isOver = false
  const change = async (): Promise<void> => {
    for (let round = 1; round <= CHANGES; round++) {
      await lab().api.apply(...objectsOf(deployment(round)))
      await lab().daemon.synced()
    }
    isOver = true
  }
  const failed: unknown[] = []
  let count = 0
  const connect = async (): Promise<void> => {
    for (let batch = 0; !isOver; batch++) {
      const [destination, port] = batch % 2 === 0 ? [VIP, 80] : ['192.168.0.2', NODE_PORT]
      const target = { source: '10.0.0.2', destination, port } as const
      const outcomes = await pod.agent.call('connect', { ...BATCH, ...target })
      count += outcomes.length
      failed.push(...outcomes.filter(({ kind }) => kind !== 'answered'))
    }
  }
  await Promise.all([change(), connect()])
  expect(failed).toEqual([])
  expect(count).toBeGreaterThan(CHANGES)
  if (process.env['NP_CHANGES'] !== undefined) {
    console.info(`${count} connections over ${CHANGES} changes, none refused or lost`)
  }
}, 3_600_000)
