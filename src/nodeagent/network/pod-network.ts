import { readdir } from 'node:fs/promises'
import { type Clock, sleep } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { contentHash } from '../../lib/hash.ts'
import { type Cidr, familyOf, type IpAddress } from '../../lib/ip.ts'
import {
  isOwnNamespace,
  NAMESPACE_FOLDER,
  type Namespace,
  namespaceNamed,
} from '../system/namespace.ts'
import { killProcess, runCommand } from '../system/run-command.ts'
import { gatewayOf } from './pod-addresses.ts'

/** Longer names are cut to this length, and get a hash. */
const MAX_PLAIN_LENGTH = 200

const PAUSE_MS = 10
const MAX_ATTEMPTS = 500

interface PodNetworkOptions {
  readonly clock: Clock
  readonly node: Namespace
  readonly nodeName: string
  readonly bridge: string
  /** The prefix of the names of Pods' network namespaces; all of them with it belong to this agent. */
  readonly prefix: string
  readonly podCIDRs: readonly Cidr[]
}

/** A bridge in the network namespace of the node and, connected to it, one network namespace for each Pod. */
export class PodNetwork {
  readonly #options: PodNetworkOptions
  readonly #names: NamespaceNames

  constructor(options: PodNetworkOptions) {
    this.#options = options
    this.#names = new NamespaceNames(options.prefix)
  }

  /** Recreates the bridge, and removes what an earlier node agent with this prefix left. */
  async open(): Promise<void> {
    const { node, podCIDRs } = this.#options
    await this.close()
    const hasV6 = podCIDRs.some((cidr) => familyOf(cidr) === 6)
    await node.set({
      'net.ipv4.ip_forward': 1,
      ...(hasV6 ? { 'net.ipv6.conf.all.forwarding': 1 } : {}),
    })
    await node.ip(bridgeLines(this.#options))
  }

  /** The name of a Pod's network namespace, while it has one. */
  nameOf(uid: string): string | undefined {
    return this.#names.of(uid)
  }

  /** Makes a Pod's network namespace with these addresses. */
  async connect(pod: PodName, ips: readonly IpAddress[]): Promise<void> {
    const { node, bridge, podCIDRs } = this.#options
    const name = this.#names.give(pod)
    await this.#remove(name)
    await runCommand(['ip', 'netns', 'add', name])
    const namespace = namespaceNamed(name)
    await namespace.set(NO_REDIRECTS)
    await node.ip(nodeLines({ nodeEnd: nodeEndOf(pod.uid), namespace: name, bridge, ips }))
    await namespace.ip(podLines(ips, podCIDRs))
  }

  /** Kills the processes in a Pod's network namespace, and removes it with its link. */
  async disconnect(uid: string): Promise<void> {
    const name = this.#names.of(uid)
    if (name !== undefined) await this.#remove(name)
    this.#names.release(uid)
  }

  /** Removes every Pod's network namespace, and the bridge. */
  async close(): Promise<void> {
    const { clock, node, bridge } = this.#options
    await Promise.all((await this.#list()).map((name) => removeNamespace(name, clock)))
    const links = await runCommand(node.inside(['ip', '-o', 'link', 'show', 'type', 'bridge']))
    const isThere = links.split('\n').some((line) => line.split(': ')[1] === bridge)
    if (isThere) await node.ip([`link del ${bridge}`])
  }

  async #remove(name: string): Promise<void> {
    if ((await this.#list()).includes(name)) await removeNamespace(name, this.#options.clock)
  }

  async #list(): Promise<readonly string[]> {
    const names = await readdir(NAMESPACE_FOLDER).catch(() => [])
    return names.filter((name) => name.startsWith(`${this.#options.prefix}-`))
  }
}

/**
 * Settings by which a Pod ignores ICMP redirects of IPv4: a redirect would make it bypass the node, but its replies must
 * pass the node's connection tracking. That the node sends them is not prevented: this would need the setting of all
 * interfaces, which belongs to the machine.
 */
const NO_REDIRECTS = {
  'net.ipv4.conf.all.accept_redirects': 0,
  'net.ipv4.conf.default.accept_redirects': 0,
}

/** The node's end of a Pod's link; names of links have 15 characters at most. */
function nodeEndOf(uid: string): string {
  return `veth${shortHash(uid)}`
}

/**
 * Kills the processes in a network namespace, waits until they have ended, and removes it. This polls, because
 * the kernel reports only the end of child processes. Throws NP_NODEAGENT_NAMESPACE for a namespace that must
 * not be removed or does not empty.
 */
async function removeNamespace(name: string, clock: Clock): Promise<void> {
  if (await isOwnNamespace(name)) throw refused(name, 'it is the one that the node agent is in')
  for (let attempt = 0; ; attempt++) {
    const pids = (await runCommand(['ip', 'netns', 'pids', name])).split('\n').filter(Boolean)
    if (pids.length === 0) break
    if (attempt === MAX_ATTEMPTS) throw refused(name, `process ${pids[0]} does not end`)
    for (const pid of pids) killProcess(Number(pid))
    await sleep(clock, PAUSE_MS)
  }
  await runCommand(['ip', 'netns', 'del', name])
}

function refused(name: string, why: string): NodeProxyError {
  return new NodeProxyError('NP_NODEAGENT_NAMESPACE', `network namespace ${name}: ${why}`, {
    object: name,
  })
}

/** What identifies a Pod. */
interface PodName {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/**
 * The names of the network namespaces of Pods: `<prefix>-<namespace>-<name>` with those of the Pod, so that people find
 * them. A part of the uid is added if the name is too long, or is used by another Pod, for example by one of the same
 * name that has not ended yet.
 */
export class NamespaceNames {
  readonly #prefix: string
  /** By uid. */
  readonly #names = new Map<string, string>()

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  of(uid: string): string | undefined {
    return this.#names.get(uid)
  }

  /** The name of the Pod's network namespace, the same at every call until it is released. */
  give({ uid, namespace, name }: PodName): string {
    const known = this.#names.get(uid)
    if (known !== undefined) return known
    const plain = `${this.#prefix}-${namespace}-${name}`
    const isFree = plain.length <= MAX_PLAIN_LENGTH && ![...this.#names.values()].includes(plain)
    const given = isFree ? plain : `${plain.slice(0, MAX_PLAIN_LENGTH)}-${shortHash(uid)}`
    this.#names.set(uid, given)
    return given
  }

  release(uid: string): void {
    this.#names.delete(uid)
  }
}

/** Sub-commands of `ip` that make the bridge, with the node's address in each network. */
export function bridgeLines({
  bridge,
  nodeName,
  podCIDRs,
}: Pick<PodNetworkOptions, 'bridge' | 'nodeName' | 'podCIDRs'>): readonly string[] {
  return [
    `link add ${bridge} address ${macOf(nodeName)} type bridge`,
    `link set ${bridge} up`,
    ...podCIDRs.map((cidr) => addressLine(gatewayOf(cidr), bridge)),
  ]
}

/**
 * The node's side of a Pod's link. If bridged packets pass the node's rules (br_netfilter, bridge-nf-call-iptables),
 * hairpin mode is needed for a Pod that connects to itself.
 */
export function nodeLines({
  nodeEnd,
  namespace,
  bridge,
  ips,
}: {
  readonly nodeEnd: string
  readonly namespace: string
  readonly bridge: string
  readonly ips: readonly IpAddress[]
}): readonly string[] {
  return [
    `link add ${nodeEnd} type veth peer name eth0 netns ${namespace}`,
    `link set ${nodeEnd} master ${bridge} up`,
    `link set ${nodeEnd} type bridge_slave hairpin on`,
    ...ips.map((ip) => `route replace ${bare(ip)} dev ${bridge}`),
  ]
}

/**
 * The Pod's side. Pods reach even other Pods of the node through the node's routing, so that replies pass its
 * connection tracking whether or not bridged packets pass its rules (bridge-nf-call-iptables).
 */
export function podLines(ips: readonly IpAddress[], cidrs: readonly Cidr[]): readonly string[] {
  const gateways = cidrs.map(gatewayOf)
  return [
    'link set lo up',
    'link set eth0 up',
    ...ips.map((ip) => addressLine(ip, 'eth0')),
    ...gateways.flatMap((ip) => [
      `route add ${bare(ip)} dev eth0`,
      `route add ${familyOf(ip) === 6 ? '::/0' : '0.0.0.0/0'} via ${ip} dev eth0`,
    ]),
  ]
}

function bare(ip: IpAddress): string {
  return `${ip}/${familyOf(ip) === 6 ? 128 : 32}`
}

/** No other link can have the address, so duplicate address detection is off. */
function addressLine(ip: IpAddress, link: string): string {
  return `addr add ${bare(ip)} dev ${link}${familyOf(ip) === 6 ? ' nodad' : ''}`
}

/**
 * The bridge's MAC address. Without a fixed one a bridge takes that of a port and changes it with the ports,
 * while Pods keep the old one in their neighbour tables.
 */
function macOf(nodeName: string): string {
  const pairs = shortHash(nodeName).match(/../g) ?? []
  return ['02', ...pairs].join(':')
}

/** Ten hexadecimal digits of a hash: short enough for the name of a link. */
function shortHash(text: string): string {
  return contentHash(text).toString(16).padStart(13, '0').slice(-10)
}
