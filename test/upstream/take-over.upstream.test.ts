import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HttpReply } from '../support/agent/protocol.ts'
import { objectsOf } from '../support/flows/deploy.ts'
import { createLab, type Lab } from '../support/lab/lab.ts'
import type { ServiceSpec } from '../support/lab/objects.ts'
import { type Traffic, underTraffic, undisturbed } from '../support/lab/undisturbed.ts'
import { createNodeShell, type NodeShell } from './take-over/node-shell.ts'
import { commandsOf } from './take-over/page-commands.ts'
import { REFUSAL } from './use-upstream-lab.ts'

const VIP = '172.30.24.1'
const STEADY_VIP = '172.30.24.2'
const NODE = '192.168.0.2'
const NODE_PORT = 30_080
const CHECK_PORT = 30_099
const HEALTH_PORT = 10_256
const SOON = { interval: 100 }
/** Backends of one Service come and go; those of the other one stay, and so do its connections. */
const MOVING: Traffic = { destination: VIP, intervalMs: 20, held: 0 }
const POD = '10.0.0.2'
/** Where one of three backends is gone, all of so many connections meet another one with probability 3 × 10⁻¹¹. */
const AFTERWARDS = 60
const STEADY: Traffic = { destination: STEADY_VIP, intervalMs: 200 }
const OUTSIDE = { place: 'outside', source: '203.0.113.2', destination: NODE } as const
const CLIENTS: readonly Traffic[] = [
  MOVING,
  { ...MOVING, place: 'node', source: NODE },
  { ...MOVING, ...OUTSIDE, port: NODE_PORT },
  STEADY,
  { ...STEADY, place: 'node', source: NODE },
  { ...STEADY, ...OUTSIDE, port: NODE_PORT + 1 },
]
/** Of kube-proxy 1.20; the marks are the kubelet's as well. */
const LEFT_BEHIND = ['KUBE-MARK-DROP', 'KUBE-MARK-MASQ', 'KUBE-PROXY-CANARY']
const KUBE_PROXY_SERVES =
  'until iptables -w -t nat -S KUBE-SERVICES | grep -q KUBE-SVC; do sleep 0.1; done'

describe.each(['nft', 'legacy'] as const)(
  'between kube-proxy and node-proxy on iptables-%s',
  (variant) => {
    let lab: Lab
    let node: NodeShell
    let first = 1

    beforeAll(async () => {
      lab = await createLab({ api: 'orch-server' })
      node = await createNodeShell(lab, variant)
      await serveFrom(first)
      const steady = { clusterIP: STEADY_VIP, nodePort: NODE_PORT + 1, serials: [101, 102] }
      await deploy('ns/steady', { ...steady, spec: { type: 'NodePort' } })
      await node.run('systemctl start kube-proxy')
      await node.run(KUBE_PROXY_SERVES)
    })
    afterAll(async () => {
      await node?.stop()
      const said = node === undefined ? '' : node.logs('kube-proxy') + node.logs('node-proxy')
      await lab?.close()
      expect(said.split('\n').filter((line) => REFUSAL.test(line))).toEqual([])
    })

    /** A Service with three backends in a row, the last one on the node itself. */
    async function serveFrom(serial: number): Promise<void> {
      await deploy('ns/moving', {
        clusterIP: VIP,
        nodePort: NODE_PORT,
        serials: [serial, serial + 1],
        spec: {
          type: 'LoadBalancer',
          externalTrafficPolicy: 'Local',
          healthCheckNodePort: CHECK_PORT,
        },
      })
    }

    interface Deployed {
      readonly clusterIP: string
      readonly nodePort: number
      /** Of backends on another node; one more is on the node itself. */
      readonly serials: readonly number[]
      readonly spec: Partial<ServiceSpec>
    }

    async function deploy(key: string, { clusterIP, nodePort, serials, spec }: Deployed) {
      const far = serials.map((serial) => ({ ip: `10.180.2.${serial}`, node: 'far' }))
      const endpoints = [...far, { ip: '10.180.0.1' }]
      const listening = [{ protocol: 'TCP', port: 80 }] as const
      for (const { ip } of far) await lab.serve({ ip, local: false, ports: listening })
      await lab.serve({ ip: '10.180.0.1', local: true, ports: listening })
      const ports = [{ name: '', port: 80, nodePort }]
      await lab.api.apply(...objectsOf({ key, clusterIP, endpoints, ports, spec }))
    }

    /** A backend leaves, and is gone as soon as the rules of `proxy` do without it. */
    async function replaceBackend(proxy: 'KUBE' | 'NPROXY'): Promise<void> {
      const ip = `10.180.2.${first++}`
      await serveFrom(first)
      const rules = new RegExp(`^-A ${proxy}-.* --to-destination ${ip}:80$`, 'm')
      await expect.poll(() => node.run('iptables-save -t nat'), SOON).not.toMatch(rules)
      await lab.world.agent.call('connect', {
        protocol: 'TCP',
        source: ip,
        destination: ip,
        port: 80,
      })
      await lab.world.agent.call('unlisten', { protocol: 'TCP', ip, port: 80 })
    }

    /** From a pod, the node and beyond it, not one connection fails, new or old. */
    function expectUndisturbed(change: () => Promise<void>): Promise<void> {
      return CLIENTS.reduce<() => Promise<void>>(
        (work, traffic) => async () => void (await undisturbed(lab, traffic, work)),
        change,
      )()
    }

    /** How many new connections of a pod fail meanwhile, and just after it. */
    async function failures(change: () => Promise<void>): Promise<number> {
      let after = 0
      const { load } = await underTraffic(lab, MOVING, async () => {
        await change()
        const { agent } = await lab.site('pod', POD)
        const request = { protocol: 'TCP', source: POD, destination: VIP, port: 80 } as const
        const outcomes = await agent.call('connect', { ...request, attempts: AFTERWARDS })
        after = outcomes.filter(({ kind }) => kind !== 'answered').length
      })
      return load.failed + after
    }

    const run = async (commands: readonly string[]): Promise<void> => {
      for (const command of commands) await node.run(command)
    }
    const get = (port: number, path: string): Promise<HttpReply> =>
      lab.node.agent.call('http', { url: `http://127.0.0.1:${port}${path}` })
    const answerOf = (port: number, path: string): Promise<string> =>
      get(port, path).then(({ status, body }) => `${status} ${body}`, String)

    test('the page leads to node-proxy, and a backend leaves on the way', async () => {
      const [start = '', ready = '', stop = '', ...cleanUp] = commandsOf('Take over')
      await expectUndisturbed(async () => {
        await run([start, ready])
        expect(node.logs('node-proxy')).toMatch(/kube-proxy, at work \(pid \d+\)/)
        await replaceBackend('NPROXY')
        await run([stop])
        await replaceBackend('NPROXY')
        await run(cleanUp)
        await replaceBackend('NPROXY')
      })
      expect(await node.run('iptables-save; ip6tables-save')).not.toMatch(/KUBE-(SVC|SERVICES)/)
      await expect.poll(() => answerOf(CHECK_PORT, '/'), SOON).toMatch(/^200 .*"moving"/)
      await expect.poll(() => answerOf(HEALTH_PORT, '/readyz'), SOON).toContain('"warnings":[]')
    })

    test('what stays behind is what the page lists', async () => {
      const saved = await node.run('iptables-save; ip6tables-save')
      const chains = [...saved.matchAll(/^:(KUBE-[\w-]+)/gm)].map(([, name = '']) => name)
      expect([...new Set(chains)].toSorted()).toEqual(LEFT_BEHIND)
      const listed = (
        await Promise.all(commandsOf('Look for what stays behind').map(node.run))
      ).join('')
      for (const name of [...LEFT_BEHIND, 'route_localnet = 1']) expect(listed).toContain(name)
    })

    test('the page leads back to kube-proxy, and a backend leaves on the way', async () => {
      const [start = '', ready = '', stop = '', ...cleanUp] = commandsOf('Go back')
      await expectUndisturbed(async () => {
        await run([start, ready])
        await replaceBackend('KUBE')
        await run([stop])
        await replaceBackend('KUBE')
        await run(cleanUp)
        await replaceBackend('KUBE')
      })
      expect(await node.run('iptables-save; ip6tables-save')).not.toContain('NPROXY-')
      await expect.poll(() => answerOf(HEALTH_PORT, '/healthz'), SOON).toMatch(/^200 /)
    })

    test('rules of a stopped kube-proxy yield to a node-proxy that starts', async () => {
      await run(['systemctl stop kube-proxy'])
      await expectUndisturbed(async () => {
        const [start = '', ready = ''] = commandsOf('Take over')
        await run([start, ready])
        await replaceBackend('NPROXY')
      })
    })

    test('a kube-proxy that came later wins, also when it has stopped, until node-proxy starts again', async () => {
      await run(['kube-proxy --cleanup', 'systemctl start kube-proxy', KUBE_PROXY_SERVES])
      await run(['systemctl stop kube-proxy'])
      expect(await failures(() => replaceBackend('NPROXY'))).toBeGreaterThan(0)
      await run(commandsOf('When rules of a stopped kube-proxy win'))
      await expectUndisturbed(() => replaceBackend('NPROXY'))
    })

    test('the other orders cost connections', async () => {
      const outOfOrder = await failures(async () => {
        await run(['systemctl stop node-proxy', 'node-proxy --cleanup', 'kube-proxy --cleanup'])
        await run(['systemctl start kube-proxy', KUBE_PROXY_SERVES])
      })
      expect(outOfOrder).toBeGreaterThan(0)
    })
  },
)
