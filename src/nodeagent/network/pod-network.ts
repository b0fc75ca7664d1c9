import { readdir } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import { type Cidr, familyOf, type IpAddress } from '../../lib/ip.ts'
import { runCommand } from '../system/run-command.ts'
import { bridgeLines, peerLines, podLines } from './link-lines.ts'
import { NAMESPACE_FOLDER, type Namespace, namespaceNamed } from './namespace.ts'
import { NamespaceNames, type PodName } from './namespace-names.ts'
import { removeNamespace } from './remove-namespace.ts'
import { shortHash } from './short-hash.ts'

export interface PodNetworkOptions {
  readonly clock: Clock
  readonly node: Namespace
  readonly nodeName: string
  readonly bridge: string
  /** What the names of Pods' namespaces begin with; whatever carries it is this agent's. */
  readonly prefix: string
  readonly podCIDRs: readonly Cidr[]
}

/** A bridge in the node's namespace, and a namespace for each Pod that hangs on it. */
export class PodNetwork {
  readonly #options: PodNetworkOptions
  readonly #names: NamespaceNames

  constructor(options: PodNetworkOptions) {
    this.#options = options
    this.#names = new NamespaceNames(options.prefix)
  }

  /** Makes the bridge anew, and removes what an earlier node agent of this prefix left. */
  async open(): Promise<void> {
    const { node, podCIDRs } = this.#options
    await this.#removeAll()
    const hasV6 = podCIDRs.some((cidr) => familyOf(cidr) === 6)
    await node.set({
      'net.ipv4.ip_forward': 1,
      ...(hasV6 ? { 'net.ipv6.conf.all.forwarding': 1 } : {}),
    })
    await node.ip(bridgeLines(this.#options))
    await node.set({ [`net.ipv4.conf.${this.#options.bridge}.send_redirects`]: 0 })
  }

  /** The name of a Pod's namespace, while it has one. */
  nameOf(uid: string): string | undefined {
    return this.#names.of(uid)
  }

  /** Makes a Pod's namespace with these addresses. */
  async connect(pod: PodName, ips: readonly IpAddress[]): Promise<void> {
    const { node, bridge, podCIDRs } = this.#options
    const name = this.#names.give(pod)
    await this.#remove(name)
    await runCommand(['ip', 'netns', 'add', name])
    const namespace = namespaceNamed(name)
    await namespace.set(FIRM)
    await node.ip(peerLines({ peer: peerOf(pod.uid), namespace: name, bridge, ips }))
    await namespace.ip(podLines(ips, podCIDRs))
  }

  /** Kills whoever is still in a Pod's namespace, and removes it with its link. */
  async disconnect(uid: string): Promise<void> {
    const name = this.#names.of(uid)
    if (name !== undefined) await this.#remove(name)
    this.#names.release(uid)
  }

  /** Removes every Pod's namespace, and the bridge. */
  async close(): Promise<void> {
    await this.#removeAll()
  }

  async #removeAll(): Promise<void> {
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

/** A redirect would lead a Pod past the node, whose connection tracking its replies must pass. */
const FIRM = {
  'net.ipv4.conf.all.accept_redirects': 0,
  'net.ipv4.conf.default.accept_redirects': 0,
}

/** The node's end of a Pod's link; names of links have 15 characters at most. */
function peerOf(uid: string): string {
  return `veth${shortHash(uid)}`
}
