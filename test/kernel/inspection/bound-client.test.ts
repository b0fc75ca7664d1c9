import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { inspectionSocket, LAUNCHER, nodeCommand } from '../../support/inspection/node-command.ts'
import { useLab } from '../../support/lab/use-lab.ts'

const VIP = '172.30.42.1'
const CLIENT = '10.0.0.2'
const STICKY: Deployment = {
  key: 'ns/sticky',
  clusterIP: VIP,
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
  ports: [{ name: '', port: 80, nodePort: 30_080 }],
  spec: { type: 'NodePort', sessionAffinity: 'ClientIP' },
}
const WAIT = { timeout: 90_000, interval: 50 }

/** What explain says of a client that has connected before, by what the kernel holds. */
describe.each(['iptables', 'nftables'] as const)('%s mode', (mode) => {
  const lab = useLab({ config: { mode } })
  beforeEach(() => lab().reset())

  test('a client with affinity: its backend, how long it is kept, and its connection', async () => {
    await deploy(lab(), STICKY)
    // Kept open, because conntrack forgets one that was reset after ten seconds.
    const { agent } = await lab().site('pod', CLIENT)
    const request = { protocol: 'TCP', source: CLIENT, destination: VIP, port: 80 } as const
    const { outcome } = await agent.call('open', request)
    const backend = outcome.kind === 'answered' ? outcome.name : ''
    const { code, stdout } = await nodeCommand(lab(), 'explain', CLIENT, 'ns/sticky')
    expect([code, stdout]).toEqual([0, expect.stringContaining(` 100 %  ${backend} gets it`)])
    const bound = /as earlier connections of this client; forgotten after (\d+) s/.exec(stdout)
    expect(Number(bound?.[1])).toBeGreaterThan(10_000)
    expect(Number(bound?.[1])).toBeLessThanOrEqual(10_800)
    expect(stdout).toContain('Connections that exist stay with their backend:\n')
    expect(stdout).toMatch(new RegExp(`  ${CLIENT}:\\d+ to ${backend}, which sees ${CLIENT}:`))
    const other = await nodeCommand(lab(), 'explain', '10.0.0.3', 'ns/sticky')
    expect(other.stdout).not.toMatch(/earlier connections|Connections that exist/)
  })

  test('a node port by its number alone', async () => {
    await deploy(lab(), STICKY)
    const words = ['explain', '203.0.113.2', 'node:30080', '--interface', 'eth0']
    const { code, stdout } = await nodeCommand(lab(), ...words)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^TCP from 203\.0\.113\.2, by eth0 to 192\.168\.0\.2:30080\n/)
    const none = await nodeCommand(lab(), 'explain', CLIENT, 'node')
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('as in node:30080')])
  })

  test('--watch prints what changes, and ends with SIGINT', async () => {
    await deploy(lab(), STICKY)
    await lab().site('pod', CLIENT)
    const { name } = lab().node.namespace
    const words = ['explain', CLIENT, 'ns/sticky', '--watch', `--socket=${inspectionSocket(lab())}`]
    const child = spawn('ip', ['netns', 'exec', name, LAUNCHER, ...words])
    let text = ''
    child.stdout.on('data', (part) => {
      text += part
    })
    const ended = once(child, 'exit')
    try {
      await vi.waitFor(() => expect(text).toContain('50 %  10.180.2.1:80 gets it'), WAIT)
      expect(text).not.toContain('refused')
      await deploy(lab(), { ...STICKY, endpoints: [] })
      await vi.waitFor(() => expect(text).toContain('100 %  it is refused'), WAIT)
    } finally {
      child.kill('SIGINT')
    }
    expect(await ended).toEqual([1, null])
  })
})
