import { beforeEach, describe, expect, test } from 'vitest'
import { type Deployment, deploy, objectsOf, redeploy } from '../support/flows/deploy.ts'
import { expectFlow } from '../support/flows/expect-flow.ts'
import { isUserspace } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

const VIP = '172.30.17.1'
const lab = useLab()
beforeEach(() => lab().reset())

function deployment(ip: string): Deployment {
  return { key: 'ns/kept', clusterIP: VIP, endpoints: [{ ip, node: 'far' }] }
}

function expectServedBy(ip: string, retrySeconds = 0): Promise<void> {
  return expectFlow(lab(), {
    retrySeconds,
    from: 'pod',
    src: '10.0.0.2',
    dst: VIP,
    dport: 80,
    expect: { outcome: 'deliver', endpoints: [`${ip}:80`], masquerade: false },
  })
}

const OUTAGES = [
  {
    what: 'refuses connections',
    begin: () => lab().apiServer.hangUp(),
    end: () => lab().apiServer.answerAgain(),
  },
  {
    what: 'hangs',
    begin: async () => lab().apiServer.signal('SIGSTOP'),
    end: async () => lab().apiServer.signal('SIGCONT'),
  },
] as const

describe.each(OUTAGES)('an API server that $what', ({ begin, end }) => {
  test('leaves everything as it is, and what changed meanwhile arrives afterwards', async () => {
    await deploy(lab(), deployment('10.180.2.1'))
    await begin()
    await expectServedBy('10.180.2.1')
    await end()
    await redeploy(lab(), deployment('10.180.2.2'))
    await expectServedBy('10.180.2.2')
  })
})

test.skipIf(isUserspace())(
  'a daemon started during the outage keeps the rules of the one before',
  async () => {
    await deploy(lab(), deployment('10.180.2.1'))
    await lab().daemon.kill()
    await lab().apiServer.hangUp()
    await lab().daemon.start()
    await expectServedBy('10.180.2.1')
    await lab().apiServer.answerAgain()
    await redeploy(lab(), deployment('10.180.2.2'))
    await expectServedBy('10.180.2.2')
  },
)

test('a server that forgot its log is listed again: what vanished meanwhile goes', async () => {
  await deploy(lab(), deployment('10.180.2.1'))
  await deploy(lab(), {
    key: 'ns/gone',
    clusterIP: '172.30.17.2',
    endpoints: [{ ip: '10.180.2.1' }],
  })
  await lab().apiServer.hangUp()
  await lab().apiServer.answerAgain()
  await lab().api.remove('Service', 'ns/gone')
  await lab().api.request('POST', '/stub/compact')
  await lab().apiServer.hangUp()
  await lab().apiServer.answerAgain()
  await lab().api.apply(...objectsOf(deployment('10.180.2.1')))
  await lab().daemon.synced()
  await expectServedBy('10.180.2.1')
  const gone = { from: 'pod', src: '10.0.0.2', dst: '172.30.17.2', dport: 80 } as const
  await expectFlow(lab(), { ...gone, expect: { outcome: 'unhandled' } })
})

test('a server that was restored from nothing is believed, once it says something', async () => {
  await deploy(lab(), deployment('10.180.2.1'))
  await lab().apiServer.stop()
  await expectServedBy('10.180.2.1')
  await lab().apiServer.start()
  lab().api.forget()
  await deploy(lab(), { ...deployment('10.180.2.2'), key: 'ns/restored' })
  await expectServedBy('10.180.2.2', 10)
  // A Node object that was there and is gone: load balancers should leave this node.
  const healthz = async () => (await lab().daemon.http(10256, '/healthz')).status
  await expect.poll(healthz).toBe(503)
  await lab().api.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'test-node' } })
  await expect.poll(healthz).toBe(200)
})

test('an outage is visible at /readyz, and nowhere else', async () => {
  const status = async (path: string) => (await lab().daemon.http(10256, path)).status
  const all = () => Promise.all(['/readyz', '/healthz', '/livez'].map(status))
  await expect.poll(all).toEqual([200, 200, 200])
  await lab().apiServer.hangUp()
  await expect.poll(all).toEqual([503, 200, 200])
  await lab().apiServer.answerAgain()
  await expect.poll(all).toEqual([200, 200, 200])
})
