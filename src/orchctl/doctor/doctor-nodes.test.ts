import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { startCluster } from '../../../test/support/inspection/cluster.ts'
import { startRemoteNode } from '../../../test/support/inspection/remote-node.ts'
import { certificates } from '../../client/testing/test-certificates.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import { healthyNode, outcome, walk } from '../../doctor/testing/healthy-node.ts'
import { runOrchctl } from '../program.ts'

const FIREWALLED = healthyNode({
  node: 'not its name',
  unread: [{ what: 'other proxies', why: 'no right' }],
  walks: [
    walk({
      outcomes: [
        outcome({ kind: 'silent', where: 'iptables filter FORWARD', rule: '-A FORWARD -j DROP' }),
      ],
    }),
  ],
})

/** The nodes `n1`, which serves these facts, and `n2`, which has no address. */
async function start(facts: unknown) {
  const authority = await newTestAuthority('nodes')
  const cluster = await startCluster()
  const words: (readonly string[])[] = []
  const node = await startRemoteNode({
    ...{ cluster, serving: await authority.server() },
    readDocument: async (command) => {
      words.push(command)
      return { json: JSON.stringify(facts) }
    },
  })
  for (const name of ['n1', 'n2']) await cluster.api.make('/api/v1/nodes', { metadata: { name } })
  await cluster.api.as('root', 'PATCH', '/api/v1/nodes/n1/status', {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } },
  })
  const folder = mkdtempSync(join(tmpdir(), 'np-doctor-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [server, nodes] = [join(folder, 'server.pem'), join(folder, 'nodes.pem')]
  writeFileSync(server, certificates.ca)
  writeFileSync(nodes, authority.cert)
  const flags = [
    ...['--server', cluster.url, '--certificate-authority', server, '--token', 'reader'],
    ...['--inspection-port', String(node.port), '--inspection-certificate-authority', nodes],
  ]
  return {
    words,
    doctor: (...more: readonly string[]) => orchctl(folder, ['doctor', ...more, ...flags]),
  }
}

async function orchctl(home: string, words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runOrchctl(words, {
    stdin: (async function* () {})(),
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    ...{ env: { HOME: home }, version: '1', signal: new AbortController().signal },
  })
  return { code, out, err }
}

test('what is wrong on a node, by the name of its Node object; nodes that cannot be read are named', async () => {
  const { doctor, words } = await start(FIREWALLED)
  const { code, out, err } = await doctor('--nodes', '-o', 'json')
  const findings = JSON.parse(out) as readonly Finding[]
  expect(code).toBe(1)
  expect(findings).toMatchObject([
    { check: 'node-firewall', object: 'node/n1', affects: ['service/shop/web'] },
  ])
  expect(words).toMatchObject([['facts', '--output=json', expect.stringMatching(/^--socket=/)]])
  expect(err).toContain('not checked: node n1: other proxies: no right')
  expect(err).toMatch(/not checked: node n2: .*has no InternalIP/)
})

test('without --nodes no node is read', async () => {
  const { doctor, words } = await start(FIREWALLED)
  expect((await doctor()).out).toBe('nothing was found\n')
  expect(words).toEqual([])
})

test('a node that sends something else is not checked', async () => {
  const { doctor } = await start({ format: 2, node: 'n1' })
  const { code, out, err } = await doctor('--nodes')
  expect([code, out]).toEqual([0, 'nothing was found\n'])
  expect(err).toContain('node n1: its node-proxy sends facts of another version')
})
