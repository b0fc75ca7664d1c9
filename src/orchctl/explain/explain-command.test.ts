import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { type Cluster, startCluster } from '../../../test/support/inspection/cluster.ts'
import { startRemoteNode } from '../../../test/support/inspection/remote-node.ts'
import { certificates } from '../../client/testing/test-certificates.ts'
import type { ReadDocument } from '../../inspection/http/commands/command-documents.ts'
import type { JsonObject } from '../../lib/json.ts'
import { runOrchctl } from '../program.ts'

const authority = await newTestAuthority('nodes')
let serving: { cert: string; key: string }
beforeAll(async () => {
  serving = await authority.server()
})

const answered: ReadDocument = async (words) => ({
  json: JSON.stringify({
    words: words.slice(-2),
    isWell: words.includes('web'),
    text: 'the \u001b text\n',
  }),
})

/** The nodes `n1`, which has the address of this machine, and `n2`, which has none; and Pods of `n1`. */
async function start(readDocument = answered) {
  const cluster = await startCluster()
  const node = await startRemoteNode({ cluster, serving, readDocument })
  const { api } = cluster
  await api.make('/api/v1/nodes', { metadata: { name: 'n1' } })
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

const PODS = '/api/v1/namespaces/default/pods'

async function pod({ api }: Cluster, name: string, spec: JsonObject): Promise<void> {
  const containers = [{ name: 'main', image: 'none' }]
  await api.make(PODS, { metadata: { name }, spec: { containers, ...spec } })
}

async function status({ api }: Cluster, path: string, value: JsonObject): Promise<void> {
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
    ...{ env: { HOME: home }, version: '1', signal: new AbortController().signal },
  })
  return { code, out, err }
}

test('every way to write the ends becomes a question for the node where the connection begins', async () => {
  const { explain } = await start()
  const wordsOf = async (...words: readonly string[]) => {
    const { out, err } = await explain(...words, '-o', 'json')
    expect(err).toBe('')
    const { node, words: sent } = JSON.parse(out) as { node: string; words: string[] }
    return `${node}: ${sent.join(' ')}`
  }
  expect(await wordsOf('pod/web', 'service/web:http')).toBe('n1: 10.0.0.2 default/web:http')
  expect(await wordsOf('pod/default/web', 'svc/shop/web', '-n', 'x')).toBe('n1: 10.0.0.2 shop/web')
  expect(await wordsOf('pod/web', '[fd00::9]:80')).toBe('n1: fd00::2 [fd00::9]:80')
  expect(await wordsOf('pod/host', 'pod/web:80')).toBe('n1: node 10.0.0.2:80')
  expect(await wordsOf('node/n1', '10.96.0.1:80')).toBe('n1: node 10.96.0.1:80')
  expect(await wordsOf('203.0.113.7', 'node/n1:30080')).toBe('n1: 203.0.113.7 127.0.0.1:30080')
  expect(await wordsOf('203.0.113.7', '127.0.0.1:30080')).toBe('n1: 203.0.113.7 127.0.0.1:30080')
  expect(await wordsOf('203.0.113.7', '1.2.3.4:80', '--node', 'n1')).toBe(
    'n1: 203.0.113.7 1.2.3.4:80',
  )
})

test('the text of the node, which cannot control the terminal, and the exit code of its verdict', async () => {
  const { explain } = await start(async (words) => ({
    json: JSON.stringify({ isWell: words.includes('10.0.0.2:80'), text: 'the \u001b[2J text\n' }),
  }))
  expect(await explain('node/n1', '10.0.0.2:80')).toEqual({
    code: 0,
    out: 'On node n1: the \\u001b[2J text\n',
    err: '',
  })
  expect((await explain('node/n1', '10.0.0.3:80')).code).toBe(1)
})

const WRONG: readonly (readonly [readonly string[], number, RegExp])[] = [
  [['service/a', 'pod/web:80'], 2, /SOURCE is a Service/],
  [['pod/web', 'shop/web'], 2, /DESTINATION "shop\/web" is none of these/],
  [['pod/web', '1.2.3.4'], 2, /DESTINATION has no port/],
  [['203.0.113.7', '1.2.3.4:80'], 2, /no Node has the address.*give --node NAME/],
  [['pod/waiting', '1.2.3.4:80'], 2, /runs on no node yet/],
  [['pod/none', '1.2.3.4:80'], 1, /pods "none" not found/],
  [['node/n2', '1.2.3.4:80'], 1, /node "n2" has no InternalIP/],
  [['node/n1', '1.2.3.4:80', '-o', 'xml'], 2, /write text or json/],
  [['node/n1', '1.2.3.4:80', '--inspection-port', '0'], 2, /is no port/],
  [
    ['node/n1', '1.2.3.4:80', '--inspection-port', '1'],
    3,
    /cannot be read.*set inspection.bindAddress/,
  ],
  [['node/n1', '1.2.3.4:80', '--as', 'root'], 1, /forbidden|cannot impersonate/i],
]

test('what cannot be explained has its reason and exit code', async () => {
  const { explain } = await start()
  for (const [words, code, message] of WRONG) {
    const result = await explain(...words)
    expect(result.err).toMatch(message)
    expect([result.code, result.out]).toEqual([code, ''])
  }
})

test('what the node refuses has its reason', async () => {
  const { cluster, ...other } = await start()
  await cluster.api.as(
    'root',
    'DELETE',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/elsewhere',
  )
  const rules = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }]
  await cluster.api.make('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'elsewhere' },
    rules,
  })
  await expect
    .poll(
      async () =>
        (await other.run('node/n1', '1.2.3.4:80', '--token', 'elsewhere', ...other.nodeFlags)).err,
    )
    .toMatch(/refuses: user "elsewhere" may not get nodes\/proxy of node "n1".*NP_ORCHCTL_NODE/)
})

test('credentials are sent to no node that another authority certified', async () => {
  const { cluster, run } = await start()
  const before = cluster.posted.length
  const node = await startRemoteNode({ cluster, serving, readDocument: answered })
  const result = await run(
    'node/n1',
    '1.2.3.4:80',
    '--token',
    'reader',
    '--inspection-port',
    String(node.port),
  )
  expect(result.code).toBe(3)
  expect(result.err).toMatch(/--inspection-certificate-authority.*NP_ORCHCTL_NODE_UNREACHABLE/)
  expect(cluster.posted.length).toBe(before)
})
