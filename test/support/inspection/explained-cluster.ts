import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { certificates } from '../../../src/client/testing/test-certificates.ts'
import type { ReadDocument } from '../../../src/inspection/http/command-documents.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { runOrchctl } from '../../../src/orchctl/program.ts'
import { ZONE } from '../../../src/resources/label-names.ts'
import { newTestAuthority } from '../certificates/test-authority.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { startRemoteNode } from './remote-node.ts'

const authority = await newTestAuthority('nodes')
/** The certificate of node-proxies. */
export const serving = await authority.server()

export const answered: ReadDocument = async (words) => ({
  json: JSON.stringify({
    words: words.slice(-2),
    isWell: words.includes('web'),
    text: 'the \u001b text\n',
  }),
})

/** The nodes `n1`, which has the address of this machine, and `n2`, which has none; and Pods of `n1`. */
export async function startExplained(readDocument = answered) {
  const cluster = await startCluster()
  const node = await startRemoteNode({ cluster, serving, readDocument })
  const { api } = cluster
  const n1 = {
    metadata: { name: 'n1', labels: { [ZONE]: 'a' } },
    spec: { podCIDRs: ['fd00::/64'] },
  }
  await api.make('/api/v1/nodes', { ...n1, spec: { podCIDR: 'fd00::/64', ...n1.spec } })
  await api.make('/api/v1/nodes', { metadata: { name: 'n2' } })
  const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
  await status(cluster, '/api/v1/nodes/n1', { addresses })
  await api.make('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  await pod(cluster, 'web', { nodeName: 'n1' })
  await pod(cluster, 'host', { nodeName: 'n1', hostNetwork: true })
  await pod(cluster, 'waiting', {})
  const podIPs = [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }]
  await status(cluster, `${PODS}/web`, { podIP: '10.0.0.2', podIPs })
  const folder = mkdtempSync(join(tmpdir(), 'np-explain-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = { server: join(folder, 'server.pem'), nodes: join(folder, 'nodes.pem') }
  writeFileSync(files.server, certificates.ca)
  writeFileSync(files.nodes, authority.cert)
  const run = (...words: readonly string[]) =>
    orchctl(folder, [
      'explain',
      ...words,
      '--server',
      cluster.url,
      '--certificate-authority',
      files.server,
    ])
  const nodeFlags = [
    '--inspection-port',
    String(node.port),
    '--inspection-certificate-authority',
    files.nodes,
  ]
  const explain = (...words: readonly string[]) => run(...nodeFlags, ...words, '--token', 'reader')
  return { cluster, run, explain, nodeFlags }
}

export const PODS = '/api/v1/namespaces/default/pods'

export async function pod({ api }: Cluster, name: string, spec: JsonObject): Promise<void> {
  const containers = [
    { name: 'main', image: 'none', ports: [{ name: 'http', containerPort: 8080 }] },
  ]
  await api.make(PODS, { metadata: { name, labels: { app: name } }, spec: { containers, ...spec } })
}

export async function status({ api }: Cluster, path: string, value: JsonObject): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const answer = await api.as('root', 'PATCH', `${path}/status`, {
    headers,
    body: { status: value },
  })
  expect(answer.status).toBe(200)
}

async function orchctl(home: string, words: readonly string[]) {
  let [out, err] = ['', '']
  const code = await runOrchctl(words, {
    stdin: (async function* () {})(),
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: { HOME: home },
    version: '1',
    signal: new AbortController().signal,
  })
  return { code, out, err }
}
