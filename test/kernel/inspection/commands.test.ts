import { beforeEach, describe, expect, test } from 'vitest'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { inspectionSocket, LAUNCHER, nodeCommand } from '../../support/inspection/node-command.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** The commands of node-proxy beside a real daemon. */
const lab = useLab()
beforeEach(async () => {
  await lab().reset()
  await lab().site('pod', '10.0.0.2')
})

const TWO: Deployment = {
  key: 'ns/two',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

describe('status', () => {
  test('of a node where nothing is wrong: exit code 0', async () => {
    await deploy(lab(), TWO)
    const { code, stdout, stderr } = await nodeCommand(lab(), 'status')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^ready, and nothing is wrong\n/)
    expect(stdout).toMatch(/^node +test-node\nmode +iptables\n/m)
    expect(stdout).toContain('forwards  1 Services, 1 entries, 2 backends')
    expect(stdout).toMatch(/latency {3}p50 \d+ ms, p99 \d+ ms of \d+ changes/)
    expect(stdout).toContain('  2 backends  ns/two')
  })

  test('two Services of one address: exit code 1, and the one that lost is named', async () => {
    const spec = { externalIPs: ['1.2.3.9'] }
    await deploy(lab(), { ...TWO, spec })
    await deploy(lab(), { ...TWO, key: 'ns/other', clusterIP: '172.30.41.2', spec })
    const { code, stdout } = await nodeCommand(lab(), 'status')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^ready, but:\n {2}ns\/\w+:.*externalIP 1\.2\.3\.9 port 80 \(TCP\) belongs to ns\//,
    )
    const json = JSON.parse((await nodeCommand(lab(), 'status', '-o', 'json')).stdout)
    expect(json).toMatchObject({ isReady: true, problems: [{ code: 'NP_FORWARDING_CONFLICT' }] })
  })

  test('without a daemon: exit code 3, and what to check', async () => {
    const gone = await lab().node.namespace.exec(
      ['sh', '-c', '"$0" status --socket=/nonexistent.sock 2>&1; echo "exit $?"', LAUNCHER],
      { timeoutMs: 60_000 },
    )
    expect(gone).toMatch(/does not answer on \/nonexistent\.sock.*NP_INSPECTION_UNREACHABLE/)
    expect(gone).toMatch(/exit 3\n?$/)
  })
})

test('entries: of all Services, of one, and of none', async () => {
  await deploy(lab(), { ...TWO, spec: { sessionAffinity: 'ClientIP' } })
  const all = await nodeCommand(lab(), 'entries')
  expect(all.stdout).toBe(
    [
      'ns/two:/TCP/4: Done, affinity of clients for 10800 s',
      '  listens  clusterIP 172.30.41.1:80',
      '  backend  10.180.0.1:80, on this node',
      '  backend  10.180.2.1:80\n',
    ].join('\n'),
  )
  expect(await nodeCommand(lab(), 'entries', 'ns/two')).toEqual(all)
  expect(await nodeCommand(lab(), 'entries', 'ns/')).toEqual(all)
  const one = JSON.parse((await nodeCommand(lab(), 'entries', 'ns/two', '-o', 'json')).stdout)
  expect(one).toMatchObject({ id: 'ns/two:/TCP/4', family: 4, affinitySeconds: 10_800 })
  const none = await nodeCommand(lab(), 'entries', 'ns/none')
  expect(none.code).toBe(1)
  expect(none.stderr).toContain('forwards no port of "ns/none"')
})

describe('explain', () => {
  test('by name: what the kernel does, what node-proxy wants, and the way', async () => {
    await deploy(lab(), TWO)
    const { code, stdout } = await nodeCommand(lab(), 'explain', '10.0.0.2', 'ns/two')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^TCP from 10\.0\.0\.2, by cbr0 to 172\.30\.41\.1:80\n\nThe kernel:\n/)
    expect(stdout).toContain('50 %  10.180.0.1:80 gets it, from 10.0.0.2')
    expect(stdout).toContain(
      'deliver, for ns/two:/TCP/4 (mode iptables)\n    50 %  10.180.0.1:80, on this node\n' +
        '    50 %  10.180.2.1:80, on node far\n',
    )
    expect(stdout).toContain('iptables nat PREROUTING: -A PREROUTING -j NPROXY-SERVICES')
    expect(stdout).not.toContain('otherwise')
  })

  test('why the pool has its backends, and what is left out', async () => {
    await deploy(lab(), { ...TWO, spec: { internalTrafficPolicy: 'Local' } })
    const { stdout } = await nodeCommand(lab(), 'explain', '10.0.0.2', 'ns/two')
    expect(stdout).toContain(
      [
        '  internalTrafficPolicy is Local: endpoints on node test-node alone',
        '  endpoints that get no new connections from here:',
        '    10.180.2.1:80: on node far\n',
      ].join('\n'),
    )
    const json = await nodeCommand(lab(), 'explain', '10.0.0.2', 'ns/two', '-o', 'json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      desired: {
        backends: [{ ip: '10.180.0.1', node: 'test-node' }],
        pool: {
          name: 'local',
          zone: '',
          chosenBy: 'ready',
          leftOutCount: 1,
          leftOut: [{ ip: '10.180.2.1', port: 80, node: 'far', reason: 'otherNode' }],
        },
      },
    })
  })

  test('a Service without endpoints: refused, exit code 1, and the hint', async () => {
    await deploy(lab(), { ...TWO, endpoints: [] })
    const { code, stdout } = await nodeCommand(lab(), 'explain', 'node', '172.30.41.1:80')
    expect(code).toBe(1)
    expect(stdout).toMatch(/100 % {2}it is refused \(tcp-reset\) \(-A NPROXY-FILTER-VIPS -d 172/)
    expect(stdout).toContain('the endpoints list is empty: check that the selector matches')
  })

  test('the kernel alone, where no node-proxy answers', async () => {
    await deploy(lab(), TWO)
    const words = ['explain', '10.0.0.2', '172.30.41.1:80', '--socket=/nonexistent.sock']
    const text = await lab().node.namespace.exec(
      ['sh', '-c', '"$0" "$@"; echo "exit $?"', LAUNCHER, ...words],
      { timeoutMs: 60_000 },
    )
    expect(text).toContain('50 %  10.180.2.1:80 gets it, from 10.0.0.2')
    expect(text).toContain('not known: node-proxy does not answer on /nonexistent.sock')
  })

  test.each([
    [['10.0.0.2', 'ns/none'], 1, 'this node forwards no port of "ns/none"'],
    [['pod', '1.2.3.4:80'], 2, 'SOURCE "pod": write an IP address, or node'],
    [['10.0.0.2', '1.2.3.4'], 2, 'DESTINATION "1.2.3.4": add the port, as in 1.2.3.4:80'],
    [['10.0.0.2', '1.2.3.4:80', '-p', 'icmp'], 2, '--protocol "icmp": write tcp, udp or sctp'],
    [['10.0.0.2', '[fd00::1]:80'], 1, 'src: "10.0.0.2" is no address of IPv6'],
    [['10.0.0.2'], 2, "missing required argument 'destination'"],
  ])('%j: exit code %i', async (words, code, message) => {
    const result = await nodeCommand(lab(), 'explain', ...words)
    expect([result.code, result.stdout]).toEqual([code, ''])
    expect(result.stderr).toContain(message)
  })
})

test('the socket is for root and its group alone', async () => {
  const { namespace } = lab().node
  expect(await namespace.exec(['stat', '-c', '%a %u %g', inspectionSocket(lab())])).toMatch(
    /^660 0 0/,
  )
})
