import {
  type Ipvs,
  type IpvsCommand,
  type RealServerState,
  type VirtualServer,
  virtualServerKey,
} from '../../../kernel/ipvs/ipvs.ts'
import type { ObjectKey } from '../../mode.ts'
import { serverIdOf, serverKey } from '../objects/object.ts'
import { specText } from './server-spec.ts'

/**
 * The virtual servers that are ours, as last read or written. Those of others are
 * neither listed nor touched. Lost answers of the kernel throw `NodeProxyError`.
 */
export class VirtualServers {
  readonly #ipvs: Ipvs
  readonly #texts = new Map<ObjectKey, string>()
  readonly #foreign = new Set<ObjectKey>()

  constructor(ipvs: Ipvs) {
    this.#ipvs = ipvs
  }

  /** Texts of all that are ours, see `specText`. */
  get texts(): ReadonlyMap<ObjectKey, string> {
    return this.#texts
  }

  /** Whether virtual servers were found that are not ours. */
  get hasForeign(): boolean {
    return this.#foreign.size > 0
  }

  /** Those of `keys`, virtual servers that are about to be created, whose address and port another process has. */
  async foreignAmong(keys: Iterable<ObjectKey>): Promise<ReadonlySet<ObjectKey>> {
    const taken = new Set<ObjectKey>()
    for (const key of keys) {
      if (this.#texts.has(key) || !this.#foreign.has(key)) continue
      const found = await this.#ipvs.service(serverIdOf(key))
      if (found) taken.add(key)
    }
    return taken
  }

  /** Reads all of ours: `isOurs` decides about those that we do not know yet. */
  async observe(isOurs: (server: VirtualServer) => boolean): Promise<void> {
    const all = await this.#ipvs.services()
    const ours = all.filter((server) => this.#texts.has(serverKey(server.id)) || isOurs(server))
    const names = new Set(ours.map(({ id }) => serverKey(id)))
    this.#foreign.clear()
    this.recordForeign(all.map(({ id }) => serverKey(id)).filter((key) => !names.has(key)))
    const servers = await this.#ipvs.serversOf(ours.map(({ id }) => id))
    this.#texts.clear()
    for (const { id, settings } of ours) {
      const found = servers.get(virtualServerKey(id))
      if (found) this.#texts.set(serverKey(id), specText({ settings, servers: found }))
    }
  }

  /** Reads some of ours again. */
  async observeSome(keys: readonly ObjectKey[]): Promise<void> {
    await this.reread(keys.filter((key) => this.#texts.has(key)))
  }

  /** The present texts of these in the kernel, without those that do not exist. The recorded texts do not change. */
  async look(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, string>> {
    const texts = new Map<ObjectKey, string>()
    for (const [key, servers] of await this.states(keys)) {
      const server = await this.#ipvs.service(serverIdOf(key))
      if (server) texts.set(key, specText({ settings: server.settings, servers }))
    }
    return texts
  }

  /** Real servers with their connections, by key of their virtual server. */
  async states(
    keys: readonly ObjectKey[],
  ): Promise<ReadonlyMap<ObjectKey, readonly RealServerState[]>> {
    const found = await this.#ipvs.serversOf(keys.map(serverIdOf))
    return new Map([...found].map(([name, servers]) => [`vs/${name}` as ObjectKey, servers]))
  }

  /** Sends commands after which virtual servers have these texts; undefined for those that are deleted. */
  async send(
    commands: readonly IpvsCommand[],
    texts: ReadonlyMap<ObjectKey, string | undefined>,
  ): Promise<void> {
    const refusals = await this.#ipvs.run(commands)
    for (const [key, text] of texts) this.record(key, text)
    if (refusals.length > 0) await this.reread([...texts.keys()])
  }

  /** Deletes these at once, with the connections that they have. */
  async deleteAll(keys: readonly ObjectKey[]): Promise<void> {
    const commands = keys.map((key): IpvsCommand => ({ do: 'deleteService', id: serverIdOf(key) }))
    await this.send(commands, new Map(keys.map((key) => [key, undefined])))
  }

  /** Records one of ours as it was just written; undefined if it was deleted. */
  record(key: ObjectKey, text: string | undefined): void {
    if (text === undefined) this.#texts.delete(key)
    else this.#texts.set(key, text)
  }

  /** Records virtual servers of other processes. */
  recordForeign(keys: readonly ObjectKey[]): void {
    for (const key of keys) this.#foreign.add(key)
  }

  /** Reads these again; those that exist are ours. */
  async reread(keys: readonly ObjectKey[]): Promise<void> {
    const texts = await this.look(keys)
    for (const key of keys) this.record(key, texts.get(key))
  }
}
