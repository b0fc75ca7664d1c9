import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployAll } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'
import { blocksOf } from '../../support/pages/page-section.ts'
import { programsFolder } from '../../support/programs.ts'

/** The commands of a page of `docs/operate`, on a node that serves. */
const PAGE = { page: 'nftables.md' } as const
const lab = useLab({ config: { mode: 'nftables', nftables: { trafficCounters: true } } })

const WEB = { destination: '172.30.63.1', port: 80 } as const
const EMPTY = '172.30.63.2'
const LIMITED = '203.0.113.80'
const CLIENT = '10.0.0.2'
const NAME = 'shop/web'
/** The folder of the program `node-proxy`. */
const BIN = join(programsFolder(), 'bin')

/** Where the rules of a firewall are saved. */
let file = ''

beforeAll(async () => {
  file = join(await mkdtemp(join(tmpdir(), 'np-nftables-')), 'firewall.nft')
  await deployAll(lab(), [
    {
      key: NAME,
      clusterIP: WEB.destination,
      endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
      ports: [{ name: '', port: WEB.port, nodePort: 30080 }],
      spec: {
        type: 'LoadBalancer',
        sessionAffinity: 'ClientIP',
        loadBalancerSourceRanges: ['198.51.100.0/24'],
      },
      ingress: [{ ip: LIMITED }],
    },
    { key: 'shop/empty', clusterIP: EMPTY, endpoints: [] },
  ])
})

afterAll(() => rm(dirname(file), { recursive: true, force: true }))

/** Runs the blocks of a section, or one of them; answers what each printed. */
async function follow(heading: string, block?: number): Promise<readonly string[]> {
  const frontend = { ADDRESS: WEB.destination, PORT: String(WEB.port) }
  const env = { ...frontend, NAME, MAP: await map(), CLIENT, FILE: file }
  const set = Object.entries(env).map(([name, value]) => `${name}='${value}'`)
  const blocks = blocksOf(PAGE.page, heading, 'sh')
  const printed: string[] = []
  for (const each of block === undefined ? blocks : blocks.slice(block, block + 1)) {
    const script = `set -e; ${set.join('; ')}; PATH=${BIN}:$PATH\n${each}`
    printed.push(await lab().node.namespace.exec(['sh', '-c', script]))
  }
  return printed
}

/** The map of the clients of the only Service with affinity. */
async function map(): Promise<string> {
  const listed = await lab().node.namespace.exec(['nft', 'list', 'maps', 'ip'])
  return /map (affinity-\S+) /.exec(listed)?.[1] ?? ''
}

async function connect(): Promise<string> {
  const [outcome] = await lab().connect('pod', { source: CLIENT, ...WEB })
  return outcome?.kind === 'answered' ? outcome.name : String(outcome?.kind)
}

test('which Services are served', async () => {
  const [printed] = await follow('Which Services are served')
  expect(printed).toContain(
    `${WEB.destination} . tcp . 80 comment "shop/web:/TCP/4" : goto sticky-`,
  )
  expect(printed).toMatch(new RegExp(`${EMPTY} . tcp . 80 comment "shop/empty:/TCP/4" : return`))
  expect(printed).toMatch(/tcp . 30080 comment "shop\/web:\/TCP\/4"/)
  expect(printed).toMatch(/map @affinity-\S+ comment "shop\/web:\/TCP\/4"/)
})

test('which endpoints a Service has', async () => {
  const [printed] = await follow('Which endpoints a Service has')
  expect(printed).toContain('comment "shop/web:/TCP/4"')
  expect(printed).toContain(`${WEB.destination} . tcp . 80 . 0 : 10.180.0.1 . 80`)
  expect(printed).toContain(`${WEB.destination} . tcp . 80 . 1 : 10.180.2.2 . 80`)
  expect(printed?.split('map endpoints').at(-1)).toContain(' . 80 . 0 : 10.180.0.1 . 80')
})

test('why a connection is refused', async () => {
  const [printed] = await follow('Why a connection is refused')
  expect(printed).toContain(`${EMPTY} . tcp . 80`)
  expect(printed).toContain(`${LIMITED} . tcp . 80`)
  expect(printed).toContain(`${LIMITED} . tcp . 80 . 198.51.100.0/24`)
})

test('who is remembered, and how one or all are forgotten', async () => {
  const backend = await connect()
  const [printed] = await follow('Who is remembered', 0)
  expect(printed).toContain(await map())
  const pod = backend.replace(/:\d+$/, '')
  expect(printed).toMatch(new RegExp(`${CLIENT} .*expires .* : ${pod}`))
  const remembered = () => lab().node.namespace.exec(['nft', 'list', 'ruleset'])
  await follow('Who is remembered', 1)
  expect(await remembered()).not.toContain(`${CLIENT} timeout`)
  expect(['10.180.0.1:80', '10.180.2.2:80']).toContain(await connect())
})

test('count connections and packets', async () => {
  const [printed] = await follow('Count connections and packets')
  expect(printed).toMatch(
    new RegExp(`${WEB.destination} . tcp . 80 . 10.180.\\d.\\d . 80 counter packets [1-9]`),
  )
  expect(printed).toMatch(new RegExp(`${WEB.destination} . tcp . 80 counter packets [1-9]`))
  expect(printed).toContain('tcp . 30080 counter packets 0')
})

test('follow one connection', async () => {
  let isFollowing = true
  const following = follow('Follow one connection').finally(() => {
    isFollowing = false
  })
  while (isFollowing) await connect()
  const [printed] = await following
  const tracing = () => lab().node.namespace.exec(['nft', 'list', 'tables'])
  expect(printed).toMatch(/ip node-proxy dispatch .*vmap @services/)
  expect(await tracing()).not.toContain('trace-one')
})

/** Saved without ours; loaded while the daemon runs, it brings back the firewall and touches nothing else. */
test('save the rules of a firewall', async () => {
  const nft = (...args: readonly string[]) => lab().node.namespace.exec(['nft', ...args])
  const firewall = () => nft('list', 'table', 'inet', 'firewall')
  await nft('add', 'table', 'inet', 'firewall')
  await nft('add', 'chain', 'inet', 'firewall', 'admitted')
  await nft('add', 'rule', 'inet', 'firewall', 'admitted', 'tcp', 'dport', '22', 'accept')
  const whole = await nft('list', 'ruleset')
  const asItWas = await firewall()
  const ours = () => nft('--handle', 'list', 'chain', 'ip', 'node-proxy', 'dispatch')
  const before = await ours()
  await follow('Save the rules of a firewall')
  expect([await firewall(), await ours()]).toEqual([asItWas, before])
  await nft('flush', 'table', 'inet', 'firewall')
  await nft('-f', file)
  expect([await firewall(), await ours()]).toEqual([asItWas, before])
  const input = `flush ruleset\n${whole}`
  const refused = lab().node.namespace.exec(['nft', '-f', '-'], { input })
  await expect(refused).rejects.toThrow('Operation not permitted')
  await nft('delete', 'table', 'inet', 'firewall')
})

test('let a firewall pass packets', async () => {
  const node = lab().node.namespace
  await node.exec(['iptables', '-P', 'FORWARD', 'DROP'])
  expect(await connect()).toBe('timeout')
  await follow('Let a firewall pass packets')
  expect(['10.180.0.1:80', '10.180.2.2:80']).toContain(await connect())
  await node.exec(['iptables', '-P', 'FORWARD', 'ACCEPT'])
  for (const iptables of ['iptables', 'ip6tables']) await node.exec([iptables, '-F', 'FORWARD'])
})

/** Admits no client to the Service, before any translation, as kube-proxy writes it. */
const STALE = `table ip kube-proxy {
  map firewall-ips {
    type ipv4_addr . inet_proto . inet_service : verdict
    elements = { ${WEB.destination} . tcp . ${WEB.port} : drop }
  }
  chain filter-prerouting {
    type filter hook prerouting priority -110
    ct state new ip daddr . meta l4proto . th dport vmap @firewall-ips
  }
}
table ip6 kube-proxy {
}`

test('filters that kube-proxy left drop until its tables are deleted', async () => {
  const node = lab().node.namespace
  await node.exec(['nft', '-f', '-'], { input: STALE })
  expect(await connect()).toBe('timeout')
  await follow('From kube-proxy')
  expect(['10.180.0.1:80', '10.180.2.2:80']).toContain(await connect())
})

test('remove it by hand, and what kube-proxy has left', async () => {
  await lab().daemon.stop()
  await follow('Remove it', 1)
  const node = lab().node.namespace
  for (const family of ['ip', 'ip6']) await node.exec(['nft', 'add', 'table', family, 'kube-proxy'])
  await follow('From kube-proxy')
  expect(await node.exec(['nft', 'list', 'tables'])).not.toMatch(/node-proxy|kube-proxy/)
})

test('remove it', async () => {
  await lab().daemon.start({ config: { mode: 'nftables' } })
  await lab().daemon.synced()
  await lab().daemon.stop()
  await follow('Remove it', 0)
  const tables = await lab().node.namespace.exec(['nft', 'list', 'tables'])
  expect(tables).not.toContain('node-proxy')
})
