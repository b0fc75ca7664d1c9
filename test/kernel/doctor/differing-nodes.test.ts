import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Finding } from '../../../src/doctor/evidence/finding.ts'
import {
  launcherOfVersion,
  type NodeFleet,
  startNodeFleet,
} from '../../support/doctor/node-fleet.ts'
import { orchctlDoctor, orchctlOnNode } from '../../support/doctor/orchctl-findings.ts'
import { objectsOf } from '../../support/flows/deploy.ts'

/** `orchctl doctor --nodes` over three real nodes of which one is not like the others. */
let fleet: NodeFleet
beforeAll(async () => {
  fleet = await startNodeFleet()
})
afterAll(() => fleet?.[Symbol.asyncDispose]())

/** All nodes are read. */
async function findings(): Promise<readonly Finding[]> {
  const { stdout, stderr } = await orchctlDoctor(fleet.lab, '-n', 'kube-public', '--nodes')
  expect(stderr).toBe('')
  return JSON.parse(stdout) as readonly Finding[]
}

const DIFFERING = { check: 'differing-node', object: 'node/node-c' }

test('three that are alike: nothing', async () => {
  expect(await findings()).toEqual([])
})

test('describe says what the node-proxies say: of a Node its state, of a Service what each has', async () => {
  const node = await orchctlOnNode(fleet.lab, 'describe', 'node', 'node-b')
  expect(node.stderr).toBe('')
  expect(node.stdout).toMatch(
    /^Node-Proxy:\n {2}Version: +\d+\.\d+\.\d+\n {2}Mode: +iptables\n {2}Ready: +True\n {2}Services: +\d+\n/m,
  )
  const service = ['describe', 'service', 'kubernetes', '-n', 'default', '--nodes'] as const
  const { stdout } = await orchctlOnNode(fleet.lab, ...service)
  const rows = stdout.split('\n').filter((line) => line.endsWith('Done'))
  expect(rows.map((line) => line.trim().split(/ {2,}/).slice(0, 2))).toEqual(
    ['node-b', 'node-c', 'test-node'].map((name) => [
      name,
      expect.stringMatching(/^default\/kubernetes:https\/TCP\/4$/),
    ]),
  )
})

test('one of another version, in another mode', async () => {
  const launcher = launcherOfVersion(fleet.lab, '0.0.9')
  await fleet.c.start({ launcher, config: { mode: 'nftables' } })
  expect(await findings()).toMatchObject([
    { ...DIFFERING, cause: 'its mode at work is nftables; 2 of 3 nodes have iptables' },
    {
      ...DIFFERING,
      cause: expect.stringMatching(/^its version is 0\.0\.9; 2 of 3 nodes have \d+\.\d+\.\d+$/),
    },
  ])
})

test('one with another network of Pods, and one that the API server no longer reaches', async () => {
  await fleet.c.start({ config: { clusterCIDR: '10.0.0.0/16' } })
  const differing = {
    ...DIFFERING,
    cause: 'its clusterCIDR is "10.0.0.0/16"; 2 of 3 nodes have "10.0.0.0/8,fd00:10::/64"',
  }
  expect(await findings()).toMatchObject([differing])
  const { namespace } = fleet.b.site
  await namespace.exec(
    'iptables -I OUTPUT -p tcp --dport 7443 -j REJECT --reject-with tcp-reset'.split(' '),
  )
  // What it has is old from now on.
  const endpoints = [{ ip: '10.180.2.1', node: 'far' }]
  const service = objectsOf({ key: 'ns/new', clusterIP: '172.30.41.9', endpoints })
  await fleet.lab.api.apply(...service)
  await expect
    .poll(async () => (await findings())[0], { interval: 500 })
    .toMatchObject({
      check: 'not-ready',
      object: 'node/node-b',
      cause: expect.stringMatching(/^node-proxy is not ready: no watch on \w+ is open: /),
      evidence: expect.arrayContaining(['not so on node-c, test-node']),
    })
  expect((await findings()).map(({ object }) => object)).toEqual(['node/node-b', 'node/node-c'])
})
