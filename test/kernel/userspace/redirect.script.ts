import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import { noopConntrack } from '../../../src/kernel/conntrack/conntrack.ts'
import { NetlinkSets } from '../../../src/kernel/ipset/netlink-sets.ts'
import { openIptables } from '../../../src/kernel/iptables/command-iptables.ts'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { rawTransport } from '../../../src/kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER, NETLINK_ROUTE } from '../../../src/kernel/netlink/transport.ts'
import { noopMonitor } from '../../../src/kernel/nftables/nftables-monitor.ts'
import { NetlinkRoutes } from '../../../src/kernel/route/netlink-routes.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { ownMark } from '../../../src/modes/netfilter/mark.ts'
import { backend, entry, frontend, ip, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { ForwarderState } from '../../../src/modes/userspace/forwarder-state.ts'
import { UserspaceMode } from '../../../src/modes/userspace/mode.ts'
import { FakeForwarder } from '../../../src/modes/userspace/testing/fake-forwarder.ts'
import { DeltaTracker } from '../../../src/sync/delta-tracker.ts'
import { greetingWithMark, TransparentListener } from './transparent-listener.ts'

/** The base rules on this kernel, a transparent listener for each side, and what clients meet. */
const [, , backendName = '', pod = '', outside = ''] = process.argv
const netfilter = settings({ localhostNodePorts: true })
const CLIENT = fileURLToPath(new URL('client.script.ts', import.meta.url))
const PLAIN = '198.51.100.9'

const listeners = ([4, 6] as const).map((family) => ({
  family,
  pods: new TransparentListener(family, 'pods'),
  others: new TransparentListener(family, 'others'),
}))
const serving = setInterval(() => {
  for (const { pods, others } of listeners) {
    pods.look()
    others.look()
  }
}, 5)

const runner = new Spawner()
const sets = new NetlinkSets(rawTransport(NETLINK_NETFILTER), systemClock)
const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), systemClock)
const forwarder = new FakeForwarder(
  new Map(
    listeners.map(({ family, pods, others }) => {
      return [family, { pods: pods.port, others: others.port }]
    }),
  ),
)
const mode = new UserspaceMode(
  {
    listening: {
      kind: 'transparent',
      nodeAddresses: [ip('192.0.2.10'), ip('fd00:2::10')],
      netfilter,
    },
    balancing: 'rr',
  },
  {
    forwarderState: new ForwarderState(forwarder),
    kernel: {
      iptables: await openIptables({ runner, backend: backendName as IptablesVariant }),
      sets,
      routes,
      monitor: noopMonitor,
      clock: systemClock,
      conntrack: noopConntrack,
    },
  },
)
const tracker = new DeltaTracker()

/** Wants these, writes what is due, and returns what the kernel refused. */
async function want(...entries: readonly (readonly [string, ForwardingEntry | undefined])[]) {
  for (const [id, one] of entries) mode.program.replace(id as EntryId, one)
  tracker.want(mode.program.takeChanges())
  const change = tracker.pending(0)
  const result = await mode.apply(change)
  tracker.confirm(change, result, 0)
  return [...result.failed]
}

function client(where: string, ...args: readonly (string | number)[]): ChildProcess {
  const run = [process.execPath, '--no-warnings', CLIENT]
  const enter = ['ip', 'netns', 'exec', where]
  const [command = '', ...rest] = where === 'node' ? run : [...enter, ...run]
  const child = spawn(command, [...rest, ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  clients.add(child)
  return child
}

async function nextLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! })
  const [line] = (await once(lines, 'line')) as [string]
  lines.close()
  return line
}

/** What a client meets who connects once. */
async function greeting(where: string, ...args: readonly (string | number)[]): Promise<string> {
  const child = client(where, ...args)
  const line = await nextLine(child)
  child.stdin?.end()
  if (child.exitCode === null) await once(child, 'exit')
  return line
}

function echoed(child: ChildProcess): Promise<string> {
  const answer = nextLine(child)
  child.stdin?.write('still there\n')
  return answer
}

/** By the neighbour, since it exists. */
function resetsSent(): number {
  const command = ['netns', 'exec', outside, 'cat', '/proc/net/snmp']
  const text = execFileSync('ip', command, { encoding: 'utf8' })
  const [names, values] = [...text.matchAll(/^Tcp: (.*)$/gm)].map(([, line = '']) =>
    line.split(' '),
  )
  return Number(values?.[names?.indexOf('OutRsts') ?? -1])
}

const clients = new Set<ChildProcess>()
const places = { outside, pod, node: 'node' }

/** What clients everywhere meet at an address. */
async function everywhere(...args: readonly (string | number)[]) {
  const met = Object.entries(places).map(async ([name, where]) => {
    return [name, await greeting(where, ...args)] as const
  })
  return Object.fromEntries(await Promise.all(met))
}

const id = (name: string, tail: string) => `shop/${name}:p/${tail}`
const service = (name: string, tail: string, overrides: Partial<ForwardingEntry>) =>
  [id(name, tail), entry({ id: id(name, tail) as EntryId, ...overrides })] as const
const six = { family: 6, pools: { cluster: [backend('fd00:10::9')], local: [] } } as const
const local = { pool: 'local', shortCircuit: true } as const
const external = (address: string) => frontend({ kind: 'externalIP', ip: ip(address) })
const vip6 = frontend({ ip: ip('fd00:172::41') })

const plain = client(outside, 'serve', PLAIN, 80)
await nextLine(plain)
const failed = await want(
  service('cart', 'TCP/4', {}),
  service('cart', 'UDP/4', { protocol: 'UDP' }),
  service('cart', 'TCP/6', { ...six, frontends: [vip6] }),
  service('cart', 'UDP/6', { ...six, protocol: 'UDP', frontends: [vip6] }),
  service('node', 'TCP/4', { frontends: [frontend({ ip: 'node', port: 30_080 })] }),
  service('away', 'TCP/4', {
    frontends: [frontend({ ...external('5.6.7.8'), ...local })],
    whenEmpty: { cluster: 'reject', local: 'reject' },
  }),
  service('idle', 'TCP/4', {
    frontends: [external('5.6.7.9')],
    pools: { cluster: [], local: [] },
  }),
)
const drift = tracker.saw(await mode.observe()).map(({ key, kind }) => `${kind} ${key}`)
const results: Record<string, unknown> = { missing: (await mode.probe()).missing, failed, drift }
results['tcp4'] = await everywhere('tcp', '172.30.0.41', 80)
results['tcp6'] = await everywhere('tcp', 'fd00:172::41', 80)
results['udp4'] = await everywhere('udp', '172.30.0.41', 80)
results['udp6'] = await everywhere('udp', 'fd00:172::41', 80)
results['nodePort'] = await everywhere('tcp', '192.0.2.10', 30_080)
results['loopback'] = await greeting('node', 'tcp', '127.0.0.1', 30_080)
results['noLocalBackend'] = await everywhere('tcp', '5.6.7.8', 80)
results['noBackend'] = await everywhere('tcp', '5.6.7.9', 80)
results['unlisted'] = await everywhere('tcp', PLAIN, 80)

/** A backend whose address is a Service's. */
await want(service('plain', 'TCP/4', { frontends: [external(PLAIN)] }))
results['listed'] = await greeting('node', 'tcp', PLAIN, 80)
results['ownConnection'] = await greetingWithMark([PLAIN, 80], ownMark(netfilter))

/** The same client port again while the former connection waits for its end: no reset in between. */
const first = client(outside, 'tcp', '172.30.0.41', 80, 45_000)
await nextLine(first)
first.stdin?.write('bye\n')
if (first.exitCode === null) await once(first, 'exit')
const before = resetsSent()
results['samePort'] = await greeting(outside, 'tcp', '172.30.0.41', 80, 45_000)
results['resets'] = resetsSent() - before

/** Connections that conntrack has forgotten are found again by the address of their Service. */
const kept = Object.values(places).map((where) => client(where, 'tcp', '172.30.0.41', 80))
await Promise.all(kept.map(nextLine))
execFileSync('conntrack', ['-F'], { stdio: 'ignore' })
results['forgotten'] = await Promise.all(kept.map(echoed))

/** Connections outlive their Service; new ones reach no Service. */
results['removed'] = await want([id('cart', 'TCP/4'), undefined], [id('plain', 'TCP/4'), undefined])
results['kept'] = await Promise.all(kept.map(echoed))
results['afterRemoval'] = await everywhere('tcp', PLAIN, 80)

await mode.cleanup()
results['left'] = [...(await mode.observe()).keys()].filter((key) => !key.startsWith('entry/'))
for (const child of clients) child.kill()
clearInterval(serving)
routes.close()
sets.close()
await runner.close()
process.stdout.write(JSON.stringify(results), () => process.exit())
