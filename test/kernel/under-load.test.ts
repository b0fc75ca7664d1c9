import { beforeEach, expect, test } from 'vitest'
import type { LoadReport } from '../support/agent/protocol.ts'
import { type Deployment, deploy, objectsOf, redeploy } from '../support/flows/deploy.ts'
import { isUserspace } from '../support/lab/daemon-config.ts'
import { undisturbed } from '../support/lab/undisturbed.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** What must not cost a single connection. */
const VIP = '172.30.15.1'
const CLIENT = { protocol: 'TCP', source: '10.0.0.2', destination: VIP, port: 80 } as const

const lab = useLab()
beforeEach(() => lab().reset())

function deployment(first: number): Deployment {
  const endpoints = [0, 1, 2].map((offset) => endpointAt(first + offset))
  return { key: 'ns/loaded', clusterIP: VIP, endpoints }
}

/** Odd ones on this node, even ones beyond it. */
function endpointAt(serial: number) {
  const local = serial % 2 === 1
  return { ip: `10.180.${local ? 0 : 2}.${serial}`, node: local ? 'test-node' : 'far' }
}

async function underLoad(change: () => Promise<void>): Promise<LoadReport> {
  const { load } = await undisturbed(lab(), { destination: VIP, held: 0 }, change)
  return load
}

/**
 * The pod ends as a real one does: connections that were made before the daemon
 * was done are answered first (a direct one queues behind them), then it is gone.
 */
async function removeEndpoint({ ip, node }: { ip: string; node: string }): Promise<void> {
  const { agent } = node === 'far' ? lab().world : await lab().pods.at(ip)
  const direct = { protocol: 'TCP', source: ip, destination: ip, port: 80 } as const
  expect(await agent.call('connect', direct)).toMatchObject([{ kind: 'answered' }])
  await agent.call('unlisten', { protocol: 'TCP', ip, port: 80 })
}

test('endpoints replaced one after the other, each gone as soon as the daemon says so', async () => {
  await deploy(lab(), deployment(1))
  const report = await underLoad(async () => {
    for (let first = 1; first <= 12; first++) {
      await redeploy(lab(), deployment(first + 1))
      const gone = endpointAt(first)
      await removeEndpoint(gone)
    }
  })
  expect(Object.keys(report.answers).length).toBeGreaterThan(10)
})

test.skipIf(isUserspace())('the daemon killed with SIGKILL and started again', async () => {
  await deploy(lab(), deployment(1))
  const { agent } = await lab().site('pod', CLIENT.source)
  const kept = await agent.call('open', CLIENT)
  await underLoad(async () => {
    await lab().daemon.kill()
    await agent.call('connect', { ...CLIENT, attempts: 50 })
    await lab().daemon.start()
    await lab().daemon.synced()
  })
  expect(await agent.call('ping', { id: kept.id, timeoutMs: 1000 })).toBe(true)
})

test.skipIf(isUserspace())('endpoints that changed while the daemon was dead', async () => {
  await deploy(lab(), deployment(1))
  const { agent } = await lab().site('pod', CLIENT.source)
  await underLoad(async () => {
    await lab().daemon.kill()
    const next = deployment(2)
    for (const endpoint of next.endpoints) {
      const local = endpoint.node === 'test-node'
      await lab().serve({ ip: endpoint.ip, local, ports: [{ protocol: 'TCP', port: 80 }] })
    }

    await lab().api.apply(...objectsOf(next))
    await lab().daemon.start()
    await lab().daemon.synced()
  })
  const after = await agent.call('connect', { ...CLIENT, attempts: 60 })
  const names = new Set(after.map((outcome) => outcome.kind === 'answered' && outcome.name))
  expect(names).toEqual(new Set(['10.180.2.2:80', '10.180.0.3:80', '10.180.2.4:80']))
})

test.skipIf(isUserspace())(
  'the daemon stopped with SIGTERM: it leaves the rules and the next one adopts them',
  async () => {
    await deploy(lab(), deployment(1))
    await underLoad(async () => {
      expect(await lab().daemon.stop()).toBe(0)
      await lab().daemon.start()
      await lab().daemon.synced()
    })
  },
)

test('other Services come and go', async () => {
  await deploy(lab(), deployment(1))
  const { answers } = await underLoad(async () => {
    for (let round = 0; round < 10; round++) {
      const key = `ns/passing-${round}`
      await deploy(lab(), { key, clusterIP: `172.30.15.${round + 10}`, endpoints: [endpointAt(1)] })
      await lab().api.remove('Service', key)
      await lab().daemon.synced()
    }
  })
  const names = Object.keys(answers).toSorted()
  expect(names).toEqual(['10.180.0.1:80', '10.180.0.3:80', '10.180.2.2:80'])
})
