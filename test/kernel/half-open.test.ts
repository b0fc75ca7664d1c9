import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Deployment, deploy, redeploy } from '../support/flows/deploy.ts'
import { isIpvs } from '../support/lab/daemon-config.ts'
import type { LabHost } from '../support/lab/lab.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import type { Site } from '../support/lab/site.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * TCP connections to a backend that does not answer any more, because its node has lost its power: when the backend has
 * left the Service, the next SYN of the client leads to another one.
 */
const lab = useLab()
const ALIVE: EndpointSpec = { ip: '10.180.0.1' }
const DEAD: EndpointSpec = { ip: '10.180.0.2' }

const DROP = ['INPUT', '-p', 'tcp', '--dport', '80', '-j', 'DROP']

let silent: Site
beforeEach(async () => {
  await lab().reset()
  silent = await lab().pods.at(DEAD.ip)
  await silent.namespace.exec(['iptables-legacy', '-A', ...DROP])
})
afterEach(async () => void (await silent.namespace.exec(['iptables-legacy', '-D', ...DROP])))

function web(...endpoints: readonly EndpointSpec[]): Deployment {
  return {
    key: 'ns/web',
    clusterIP: '172.30.26.1',
    endpoints,
    ports: [{ name: '', port: 80, nodePort: 30_080 }],
    spec: { type: 'NodePort' },
  }
}

const WAYS: readonly (readonly [string, LabHost, string, string, number])[] = [
  ['ClusterIP', 'pod', '10.0.0.2', '172.30.26.1', 80],
  ['ClusterIP, from the node', 'node', '192.168.0.2', '172.30.26.1', 80],
  ['node port', 'outside', '203.0.113.2', '192.168.0.2', 30_080],
]

/**
 * SYNs follow after 1, 3, 7, 15, 31 and 63 seconds. IPVS drops the first one after a backend has left, and in User-mode
 * Linux that may be seconds after it should, so the one that leads to another backend may be the sixth.
 */
const TIMEOUT_MS = 75_000

/** A minute less in User-mode Linux; the node's own connections are translated as those of Pods. */
const ways = WAYS.filter(([, from]) => !isIpvs() || from !== 'node')

describe.each(ways)('%s', (_, from, source, destination, port) => {
  const to = { source, destination, port } as const

  test('who waits for a dead backend is answered by another one when it has left', async () => {
    await deploy(lab(), web(ALIVE, DEAD))
    const clients = lab().connect(from, {
      ...to,
      attempts: 24,
      parallel: 24,
      timeoutMs: TIMEOUT_MS,
    })
    await expect.poll(syns).toBeGreaterThan(0)
    await redeploy(lab(), web(ALIVE))
    const outcomes = await clients
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['answered']))
  })

  test('a port from which somebody has waited in vain serves the next connection', async () => {
    await deploy(lab(), web(DEAD))
    const same = { ...to, sourcePort: 9_100 }
    const [first] = await lab().connect(from, { ...same, timeoutMs: 300 })
    // In userspace mode the node accepts the connection before the backend does.
    expect(first?.kind).toMatch(/^(?:timeout|mute)$/)
    await redeploy(lab(), web(ALIVE))
    const [outcome] = await lab().connect(from, { ...same, timeoutMs: TIMEOUT_MS })
    expect(outcome?.kind).toBe('answered')
  })
})

/** How many SYNs the dead backend has dropped. */
async function syns(): Promise<number> {
  const rules = await silent.namespace.exec(['iptables-legacy', '-nvxL', 'INPUT'])
  return Number(/^ *(\d+) .*DROP/m.exec(rules)?.[1])
}
