import { run } from '../../support/lab/command.ts'
import { LAN, nodeAddresses } from './plan.ts'

/** Makes the bridge between the nodes; this namespace is their router, and a client outside of the cluster. */
export async function openNetwork(): Promise<AsyncDisposable> {
  await run(['sysctl', '-qw', ...ROUTER])
  await ip('', [
    `link add ${LAN.bridge} type bridge`,
    `addr add ${LAN.v4}/24 dev ${LAN.bridge}`,
    `addr add ${LAN.v6}/64 dev ${LAN.bridge} nodad`,
    `link set ${LAN.bridge} up`,
  ])
  return { [Symbol.asyncDispose]: () => ip('', [`link del ${LAN.bridge}`]) }
}

/** A network namespace with a cable to the bridge. */
export async function plugIn(name: string): Promise<void> {
  const { v4, v6 } = nodeAddresses(name)
  await run(['ip', 'netns', 'add', name])
  await ip('', [
    `link add ${name} type veth peer name eth0 netns ${name}`,
    `link set ${name} master ${LAN.bridge} up`,
  ])
  await run(['ip', 'netns', 'exec', name, 'sysctl', '-qw', ...ROUTER])
  await ip(name, [
    'link set lo up',
    `addr add ${v4}/24 dev eth0`,
    `addr add ${v6}/64 dev eth0 nodad`,
    'link set eth0 up',
    `route add default via ${LAN.v4}`,
    `-6 route add default via ${LAN.v6}`,
  ])
}

export async function unplug(name: string): Promise<void> {
  await ip('', [`link del ${name}`, `netns del ${name}`])
}

/** What a node of a cluster, and the router between nodes, have set. */
export const ROUTER = [
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.forwarding=1',
  'net.ipv4.conf.all.send_redirects=0',
  'net.ipv4.conf.default.send_redirects=0',
] as const

/** Runs lines of `ip` in a namespace, or in that of the tests where it has no name. */
export async function ip(namespace: string, lines: readonly string[]): Promise<void> {
  const where = namespace === '' ? [] : ['ip', 'netns', 'exec', namespace]
  for (const line of lines) await run([...where, 'ip', ...line.split(' ')])
}
