import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { addNamespace, type Namespace } from '../../support/lab/namespace.ts'

const SCRIPT = fileURLToPath(new URL('redirect.script.ts', import.meta.url))
let node: Namespace
let pod: Namespace
let outside: Namespace

/** A node with one pod and one neighbour, which has an address behind it. */
beforeEach(async () => {
  node = await addNamespace(`np-redirect-${process.pid}-node`)
  pod = await addNamespace(`np-redirect-${process.pid}-pod`)
  outside = await addNamespace(`np-redirect-${process.pid}-outside`)
  await connect(pod, 'pod0', { node: ['10.0.0.1', 'fd00:10::1'], peer: ['10.0.0.2', 'fd00:10::2'] })
  await connect(outside, 'out0', {
    node: ['192.0.2.10', 'fd00:2::10'],
    peer: ['192.0.2.2', 'fd00:2::2'],
  })
  await node.ip(['route add default via 192.0.2.2', 'route add default via fd00:2::2'])
  await outside.ip(['addr add 198.51.100.9/32 dev lo'])
  await node.exec(['sysctl', '-qw', ...SYSCTLS])
})

afterEach(async () => {
  for (const each of [node, pod, outside]) await each.remove()
})

/** A node forwards; the others are the settings that such rules could break on. */
const SYSCTLS = [
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.forwarding=1',
  'net.ipv4.conf.all.rp_filter=1',
  'net.ipv4.tcp_early_demux=0',
  'net.ipv4.tcp_syncookies=2',
  'net.ipv4.tcp_fwmark_accept=1',
  'net.ipv4.fwmark_reflect=1',
  'net.ipv6.fwmark_reflect=1',
]

type Addresses = Readonly<Record<'node' | 'peer', readonly [string, string]>>

async function connect(peer: Namespace, device: string, addresses: Addresses): Promise<void> {
  const { node: ours, peer: theirs } = addresses
  const addressCommands = ([four, six]: readonly [string, string], name: string) => [
    `addr add ${four}/24 dev ${name}`,
    `addr add ${six}/64 dev ${name} nodad`,
    `link set ${name} up`,
  ]
  await node.ip([
    `link add ${device} type veth peer name eth0 netns ${peer.name}`,
    ...addressCommands(ours, device),
  ])
  await peer.ip([
    ...addressCommands(theirs, 'eth0'),
    `route add default via ${ours[0]}`,
    `route add default via ${ours[1]}`,
  ])
}

const bySide = (address: string) => ({
  outside: `others ${address}`,
  pod: `pods ${address}`,
  node: `pods ${address}`,
})
const refused = 'ECONNREFUSED'
const passedOn = { outside: 'plain', pod: 'plain', node: 'plain' }

test.each(['nft', 'legacy'])('%s brings packets for Services here, by side', async (backend) => {
  const command = [process.execPath, '--no-warnings', SCRIPT, backend, pod.name, outside.name]
  const results: unknown = JSON.parse(await node.exec(command, { timeoutMs: 240_000 }))
  expect(results).toEqual({
    missing: [],
    failed: [],
    drift: [],
    left: [],
    tcp4: bySide('172.30.0.41 80'),
    tcp6: bySide('fd00:172::41 80'),
    udp4: bySide('172.30.0.41 80'),
    udp6: bySide('fd00:172::41 80'),
    nodePort: bySide('192.0.2.10 30080'),
    loopback: 'pods 127.0.0.1 30080',
    noLocalBackend: { ...bySide('5.6.7.8 80'), outside: refused },
    noBackend: { outside: refused, pod: refused, node: refused },
    unlisted: passedOn,
    listed: `pods 198.51.100.9 80`,
    ownConnection: 'plain',
    samePort: 'others 172.30.0.41 80',
    resets: 0,
    removed: [],
    kept: ['still there', 'still there', 'still there'],
    forgotten: ['still there', 'still there', 'still there'],
    afterRemoval: passedOn,
  })
})
