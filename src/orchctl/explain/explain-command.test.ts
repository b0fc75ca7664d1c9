import { expect, test } from 'vitest'
import {
  answered,
  serving,
  startExplained as start,
} from '../../../test/support/inspection/explained-cluster.ts'
import { startRemoteNode } from '../../../test/support/inspection/remote-node.ts'

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
  // The node of the Pod that has an address, be it the second one of the Pod.
  expect(await wordsOf('10.0.0.2', '10.96.0.1:80')).toBe('n1: 10.0.0.2 10.96.0.1:80')
  expect(await wordsOf('fd00::2', '[fd00:1::9]:80')).toBe('n1: fd00::2 [fd00:1::9]:80')
  expect(await wordsOf('203.0.113.7', '10.0.0.2:80')).toBe('n1: 203.0.113.7 10.0.0.2:80')
  expect(await wordsOf('203.0.113.7', 'pod/web:80')).toBe('n1: 203.0.113.7 10.0.0.2:80')
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
    out: expect.stringMatching(/^On node n1: the \\u001b\[2J text\n\nThe cluster:\n/),
    err: '',
  })
  expect((await explain('node/n1', '10.0.0.3:80')).code).toBe(1)
})

const WRONG: readonly (readonly [readonly string[], number, RegExp])[] = [
  [['service/a', 'pod/web:80'], 2, /SOURCE is a Service/],
  [['pod/web', 'constructor/web'], 2, /DESTINATION "constructor\/web" is none of these/],
  [['pod/web', 'shop/web'], 2, /DESTINATION "shop\/web" is none of these/],
  [['pod/web', '1.2.3.4'], 2, /DESTINATION has no port/],
  [['203.0.113.7', '1.2.3.4:80'], 2, /no Node and no Pod has the address.*give --node NAME/],
  [['10.0.0.7', '1.2.3.4:80'], 2, /address of "10.0.0.7"/],
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
