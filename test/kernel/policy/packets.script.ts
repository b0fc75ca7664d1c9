import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { NetlinkConntrack } from '../../../src/kernel/conntrack/netlink-conntrack.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../../src/kernel/netlink/transport.ts'
import { openNftables } from '../../../src/kernel/nftables/netlink-nftables.ts'
import { NftablesMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import { ObjectCollector } from '../../../src/kernel/nftables/object-collector.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { PolicyEnforcer } from '../../../src/policy/nftables/enforcer.ts'
import { cleanUp } from '../../../src/policy/nftables/family-writer.ts'
import { TABLE } from '../../../src/policy/nftables/render.ts'
import { EMPTY, ScriptedSource } from '../../../src/policy/nftables/testing/scripted-source.ts'
import type {
  ChainName,
  ChainRule,
  PolicyContent,
  PolicySet,
  SetName,
} from '../../../src/policy/policy-content.ts'

/** A node that routes between the namespaces a, b and c, and policies of its Pods a and b. */
const sh = (command: string) => execFileSync('sh', ['-ec', command]).toString()
const PODS = { a: '1', b: '2', c: '3' } as const
type Pod = keyof typeof PODS
const ip = (pod: Pod, family: 4 | 6) =>
  (family === 4 ? `10.1.0.${PODS[pod]}` : `fd01::${PODS[pod]}`) as IpAddress

sh('sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1')
for (const [pod, n] of Object.entries(PODS)) {
  const inside = `ip -n ${pod}`
  sh(`ip netns add ${pod}; ip link add v${n} type veth peer name eth0 netns ${pod}
    sysctl -qw net.ipv6.conf.v${n}.accept_dad=0
    ip netns exec ${pod} sysctl -qw net.ipv6.conf.eth0.accept_dad=0
    ip addr add 10.1.1.${n}/32 dev v${n}; ip link set v${n} up; ip addr add fe80::1/64 dev v${n} nodad
    ${inside} link set lo up; ${inside} link set eth0 up
    ${inside} addr add 10.1.0.${n}/32 dev eth0; ${inside} addr add fd01::${n}/128 dev eth0 nodad
    ${inside} route add 10.1.1.${n} dev eth0; ${inside} route add default via 10.1.1.${n}
    ${inside} -6 route add default via fe80::1 dev eth0
    ip route add 10.1.0.${n}/32 dev v${n}; ip -6 route add fd01::${n}/128 dev v${n}`)
}
const SERVER = `
for (const port of [80, 81, 90]) require('net').createServer((s) => {
  s.on('error', () => {}); s.pipe(s)
}).listen(port, '::')
for (const type of ['udp4', 'udp6']) {
  const udp = require('dgram').createSocket({ type, ipv6Only: type === 'udp6' })
  udp.on('message', (m, from) => udp.send(m, from.port, from.address)); udp.bind(80)
}
setTimeout(() => console.log('ready'), 0); process.stdin.resume()
process.stdin.on('end', () => process.exit())`
const servers = Object.keys(PODS).map((pod) =>
  spawn('ip', ['netns', 'exec', pod, process.execPath, '-e', SERVER], {
    stdio: ['pipe', 'pipe', 'inherit'],
  }),
)
for (const server of servers) await once(server.stdout, 'data')

const CLIENT = `
const [to, port, how] = process.argv.slice(1)
const end = (text) => { console.log(text); process.exit() }
if (how === 'udp') {
  const udp = require('dgram').createSocket(to.includes(':') ? 'udp6' : 'udp4')
  udp.on('message', () => end('yes')); udp.send('x', Number(port), to)
  udp.on('error', () => end('no'))
} else {
  const s = require('net').connect({ host: to, port: Number(port) }, () => end('yes'))
  s.on('error', () => end('no'))
}
setTimeout(() => end('no'), 400)`

async function reaches(from: Pod | 'node', to: Pod, port: number, how = 'tcp'): Promise<string> {
  const answers = await Promise.all(
    ([4, 6] as const).map(async (family) => {
      const program = [process.execPath, '-e', CLIENT, ip(to, family), String(port), how]
      const command = from === 'node' ? program : ['ip', 'netns', 'exec', from, ...program]
      const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
      const [text] = await once(child.stdout, 'data')
      return String(text).trim()
    }),
  )
  return [...new Set(answers)].join('/')
}

function isolate(
  pod: Pod,
  direction: 'ingress' | 'egress',
  rules: readonly ChainRule[],
  sets: Readonly<Record<string, PolicySet>> = {},
): PolicyContent {
  const [policy, chain] = ['policy-x' as ChainName, 'pod-x' as ChainName]
  const pods = new Map([4, 6].map((family) => [ip(pod, family as 4 | 6), chain]))
  const others = new Map([...pods].map(([one]) => [one, 'accept' as const]))
  return {
    ...EMPTY,
    sets: new Map(Object.entries(sets).map(([name, set]) => [name as SetName, set])),
    policyChains: new Map([[policy, { direction, policy: 'shop/x', rules }]]),
    podChains: new Map([
      [chain, { direction, admin: undefined, policies: [policy], baseline: undefined }],
    ]),
    pods:
      direction === 'ingress'
        ? { ingress: pods, egress: others }
        : { ingress: others, egress: pods },
  }
}

function open(content: PolicyContent, admits = true, logDeniedPerSecond = 0) {
  const nftables = openNftables(systemClock)
  const collector = new ObjectCollector({ table: TABLE, exceptPort: nftables.port })
  const transport = rawTransport(NETLINK_NETFILTER)
  const monitor = new NftablesMonitor(transport, { clock: systemClock, collector })
  const wrote: number[] = []
  const repaired = Promise.withResolvers<void>()
  const cut = Promise.withResolvers<number>()
  const rethrow = (error: unknown) => {
    throw error
  }
  const enforcer = new PolicyEnforcer<PolicyContent>({
    model: new ScriptedSource(content, () => admits),
    nftables,
    monitor,
    conntrack: new NetlinkConntrack(transport, systemClock),
    clock: systemClock,
    wallClock: systemClock,
    families: [4, 6],
    settings: { unknownPods: 'allow', establishedConnections: 'cut', logDeniedPerSecond },
    observer: {
      applied: ({ transactions }) => wrote.push(transactions),
      drifted: () => repaired.resolve(),
      failed: rethrow,
      flowsCut: (count) => cut.resolve(count),
      flowsFailed: rethrow,
    },
    isNodeAddress: () => false,
  })
  const write = (next: PolicyContent) =>
    new Promise<void>((resolve) => enforcer.enqueue([next], resolve))
  const close = async () => {
    await enforcer.stop()
    nftables.close()
  }
  return { enforcer, nftables, wrote, repaired: repaired.promise, cut: cut.promise, write, close }
}

const keep = setInterval(() => undefined, 1_000)
const results: Record<string, unknown> = {}
const first = open(EMPTY)
first.enforcer.setSynced()
const pods = (...all: readonly Pod[]): PolicySet => ({
  kind: 'pods',
  members: new Set(all.flatMap((pod) => [ip(pod, 4), ip(pod, 6)])),
  comment: 'role=client in shop',
})
await first.write(EMPTY)
results['no policy'] = [await reaches('a', 'b', 80), await reaches('a', 'b', 80, 'udp')]
await first.write(isolate('b', 'ingress', []))
results['default deny'] = [
  await reaches('a', 'b', 80),
  await reaches('a', 'b', 80, 'udp'),
  await reaches('b', 'c', 80),
  await reaches('node', 'b', 80),
]
const from = 'set-clients' as SetName
await first.write(isolate('b', 'ingress', [{ peers: from, ports: 'any' }], { [from]: pods('a') }))
results['by Pods'] = [await reaches('a', 'b', 80), await reaches('c', 'b', 80)]
await first.write(isolate('b', 'ingress', [{ peers: from, ports: 'any' }], { [from]: pods('c') }))
results['other Pods'] = [await reaches('a', 'b', 80), await reaches('c', 'b', 80)]
const ranges = [{ first: 81, last: 95 }]
await first.write(
  isolate('b', 'ingress', [{ peers: 'any', ports: [{ protocol: 'TCP', ports: ranges }] }]),
)
results['a range of ports'] = [
  await reaches('a', 'b', 80),
  await reaches('a', 'b', 81),
  await reaches('a', 'b', 90),
]
const blocks: PolicySet = {
  kind: 'blocks',
  ranges: [
    { first: '10.1.0.0' as IpAddress, last: ip('a', 4) },
    { first: 'fd01::' as IpAddress, last: ip('a', 6) },
  ],
}
await first.write(isolate('b', 'ingress', [{ peers: from, ports: 'any' }], { [from]: blocks }))
results['blocks'] = [await reaches('a', 'b', 80), await reaches('c', 'b', 80)]
const web = 'named-web' as SetName
const members = new Map(
  ([4, 6] as const).map((family) => [
    `${family}`,
    { ip: ip('c', family), protocol: 'TCP' as const, port: 81 },
  ]),
)
const named = { protocol: 'TCP', ports: { named: web } } as const
await first.write(
  isolate('a', 'egress', [{ peers: 'any', ports: [named] }], {
    [web]: { kind: 'namedPorts', members },
  }),
)
results['egress, a named port'] = [
  await reaches('a', 'c', 81),
  await reaches('a', 'c', 80),
  await reaches('b', 'a', 80),
]
const list = () => sh(`nft list table ip ${TABLE}; nft list table ip6 ${TABLE}`)
results['owned'] = (list().match(/flags owner/g) ?? []).length
sh('nft flush ruleset')
results['after a foreign flush'] = await reaches('a', 'c', 80)
const dropped = await first.enforcer.readDropped()
results['dropped'] = dropped.some(
  ({ packets, policies }) => packets > 0n && policies[0] === 'shop/x',
)
await first.close()
const left = list()
results['rules stay'] = await reaches('a', 'c', 80)
results['nft loads them'] = execFileSync('nft', ['-c', '-f', '-'], {
  input: left.replaceAll(TABLE, 'copy').replaceAll(/^\s*flags( owner.*)?\s*$|^\s*# .*$/gm, ''),
}).toString()

const same = isolate('a', 'egress', [{ peers: 'any', ports: [named] }], {
  [web]: { kind: 'namedPorts', members },
})
const second = open(same)
second.enforcer.setSynced()
await second.write(same)
results['a restart writes'] = second.wrote[0]
await second.close()
const logging = open(same, true, 5)
logging.enforcer.setSynced()
await logging.write(same)
results['rules that log'] = [
  (list().match(/\blog prefix/g) ?? []).length,
  await reaches('a', 'c', 80),
]
await logging.close()
const again = open(same, true, 5)
again.enforcer.setSynced()
await again.write(same)
results['a restart with a log writes'] = again.wrote[0]
await again.write(EMPTY)

/** A connection that stays, and how it ends. */
const LONG = `const s = require('net').connect({ host: '${ip('b', 4)}', port: 80 }, () => s.write('x'))
s.on('data', () => { console.log('open'); setTimeout(() => s.write('x'), 100) })
s.on('error', (e) => { console.log(e.code); process.exit() })`
await again.close()
const client = spawn('ip', ['netns', 'exec', 'a', process.execPath, '-e', LONG])
const exited = once(client, 'exit')
let said = ''
client.stdout.on('data', (data) => {
  said += String(data)
})
await once(client.stdout, 'data')
const third = open(isolate('b', 'ingress', []), false)
third.enforcer.setSynced()
results['connections cut'] = (await third.cut) > 0
await exited
results['a cut connection'] = said.trim().split('\n').at(-1)
await third.close()

const other = openNftables(systemClock)
await cleanUp(other)
results['after clean-up'] = sh('nft list tables').trim()
other.close()
for (const server of servers) server.stdin.end()
clearInterval(keep)
process.stdout.write(JSON.stringify(results))
process.exit()
