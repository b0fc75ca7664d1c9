import {
  type Ipvs,
  type IpvsCommand,
  type RealServerState,
  type VirtualServer,
  virtualServerKey,
} from '../../kernel/ipvs/ipvs.ts'
import type { Clock } from '../../lib/clock.ts'
import { inGroups } from '../../lib/groups.ts'
import type { Digest, KernelError, ObjectKey } from '../mode.ts'
import { inOrderOfDeletion, isSearching } from './deletion-order.ts'
import { serverIdOf, serverKey } from './object.ts'
import { FOREIGN, runPlans, type Step } from './run-plans.ts'
import { planHold, planServer } from './server-commands.ts'
import { bareText, digestText, type ServerSpec, scheduledBy, specText } from './server-spec.ts'

export interface VirtualServersParts {
  readonly ipvs: Ipvs
  readonly clock: Pick<Clock, 'now'>
  /** What a virtual server should be; undefined: nothing any more. */
  specOf(key: ObjectKey): ServerSpec | undefined
  /** Whether connections of this virtual server outlive their backend. */
  drains(key: ObjectKey): boolean
  /** Stands in where the kernel has no module for the scheduler of a Service. */
  readonly scheduler: string
}

/** Written at a time: what is made for them is forgotten again before it costs memory. */
const AT_ONCE = 48

type Planner = (keys: readonly ObjectKey[]) => readonly Step[]

export interface ServersResult {
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
  /** How what was refused is now in the kernel. */
  readonly left: ReadonlyMap<ObjectKey, Digest>
  /** Unwanted ones that stay until their connections have ended. */
  readonly held: readonly ObjectKey[]
}

/** What one change could not write, as in `ApplyResult`; filled step by step. */
export interface WriteFailures {
  readonly failed: Map<ObjectKey, KernelError>
  /** How what was refused is now in the kernel. */
  readonly left: Map<ObjectKey, Digest>
}

/**
 * The virtual servers that are ours, as last read or written. Those of others are
 * neither listed nor touched.
 */
export class VirtualServers {
  readonly #parts: VirtualServersParts
  readonly #known = new Map<ObjectKey, string>()
  #foreign: ReadonlySet<ObjectKey> = new Set()

  constructor(parts: VirtualServersParts) {
    this.#parts = parts
  }

  /** Texts of all that are ours, see `specText`. */
  get known(): ReadonlyMap<ObjectKey, string> {
    return this.#known
  }

  /** Whether the last reading found virtual servers that are not ours. */
  get hasForeign(): boolean {
    return this.#foreign.size > 0
  }

  /** Of virtual servers that are about to be created: which points another process occupies. */
  async foreignAmong(keys: Iterable<ObjectKey>): Promise<ReadonlySet<ObjectKey>> {
    const taken = new Set<ObjectKey>()
    for (const key of keys) {
      if (this.#known.has(key) || !this.#foreign.has(key)) continue
      const found = await this.#parts.ipvs.service(serverIdOf(key))
      if (found) taken.add(key)
    }
    return taken
  }

  async apply(set: readonly ObjectKey[], unset: readonly ObjectKey[]): Promise<ServersResult> {
    const failures: WriteFailures = { failed: new Map(), left: new Map() }
    await this.#write(set, (keys) => this.#plans(keys), failures)
    await this.#withFallback(set, failures)
    const held = await this.#remove(unset, failures)
    return { ...failures, held }
  }

  /** Reads all of ours: `isOurs` says which of those that we do not know yet. */
  async observe(isOurs: (server: VirtualServer) => boolean): Promise<void> {
    const all = await this.#parts.ipvs.services()
    const ours = all.filter((server) => this.#known.has(serverKey(server.id)) || isOurs(server))
    const names = new Set(ours.map(({ id }) => serverKey(id)))
    this.#foreign = new Set(all.map(({ id }) => serverKey(id)).filter((key) => !names.has(key)))
    const servers = await this.#parts.ipvs.serversOf(ours.map(({ id }) => id))
    this.#known.clear()
    for (const { id, settings } of ours) {
      const found = servers.get(virtualServerKey(id))
      if (found) this.#known.set(serverKey(id), specText({ settings, servers: found }))
    }
  }

  /** Reads some of ours again. */
  async observeSome(keys: readonly ObjectKey[]): Promise<void> {
    await this.#read(keys.filter((key) => this.#known.has(key)))
  }

  /** Texts of these as the kernel has them now; absent: not there. What is known stays as it is. */
  async look(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, string>> {
    const texts = new Map<ObjectKey, string>()
    for (const [key, servers] of await this.states(keys)) {
      const server = await this.#parts.ipvs.service(serverIdOf(key))
      if (server) texts.set(key, specText({ settings: server.settings, servers }))
    }
    return texts
  }

  /** Real servers with their connections, by key. */
  async states(
    keys: readonly ObjectKey[],
  ): Promise<ReadonlyMap<ObjectKey, readonly RealServerState[]>> {
    const found = await this.#parts.ipvs.serversOf(keys.map(serverIdOf))
    return new Map([...found].map(([name, servers]) => [`vs/${name}` as ObjectKey, servers]))
  }

  /** Sends commands after which virtual servers have these texts; undefined: deleted. */
  async send(
    commands: readonly IpvsCommand[],
    texts: ReadonlyMap<ObjectKey, string | undefined>,
  ): Promise<void> {
    const refusals = await this.#parts.ipvs.run(commands)
    for (const [key, text] of texts) {
      if (text === undefined) this.#known.delete(key)
      else this.#known.set(key, text)
    }
    if (refusals.length > 0) await this.#read([...texts.keys()])
  }

  /** Removes these at once, with the connections that they have. */
  async deleteAll(keys: readonly ObjectKey[]): Promise<void> {
    const commands = keys.map((key): IpvsCommand => ({ do: 'deleteService', id: serverIdOf(key) }))
    await this.send(commands, new Map(keys.map((key) => [key, undefined])))
  }

  /** These are ours, if they are there. */
  async #read(keys: readonly ObjectKey[]): Promise<void> {
    const texts = await this.look(keys)
    for (const key of keys) {
      const text = texts.get(key)
      if (text === undefined) this.#known.delete(key)
      else this.#known.set(key, text)
    }
  }

  #plans(keys: readonly ObjectKey[], scheduler?: string): readonly Step[] {
    return keys.flatMap((key) => {
      const wanted = this.#parts.specOf(key)
      if (wanted === undefined) return []
      const spec = scheduler === undefined ? wanted : scheduledBy(wanted, scheduler)
      const held = this.#known.get(key)
      const drains = this.#parts.drains(key)
      return [{ key, plan: planServer(serverIdOf(key), spec, { held, drains }) }]
    })
  }

  /** Where only the scheduler is missing, a Service is better served by another one than not. */
  async #withFallback(set: readonly ObjectKey[], failures: WriteFailures): Promise<void> {
    const unscheduled = set.filter((key) => failures.failed.get(key)?.code === 'NP_IPVS_SCHEDULER')
    if (unscheduled.length === 0) return
    const again: WriteFailures = { failed: new Map(), left: new Map() }
    const { scheduler } = this.#parts
    await this.#write(unscheduled, (keys) => this.#plans(keys, scheduler), again)
    for (const key of unscheduled) {
      const why = again.failed.get(key)
      if (why?.code === FOREIGN) failures.failed.set(key, why)
      const text = this.#known.get(key)
      if (text !== undefined) failures.left.set(key, digestText(text))
    }
  }

  async #write(keys: readonly ObjectKey[], plan: Planner, failures: WriteFailures): Promise<void> {
    let written = 0
    for (const group of inGroups(keys, AT_ONCE)) {
      const isSlow = await this.#writeSome(plan(group), failures)
      written += group.length
      const isMuchLeft = keys.length - written > AT_ONCE
      if (isSlow && isMuchLeft) return this.#writeInOrder(keys.slice(written), plan, failures)
    }
  }

  /** Makes those that are missing, without real servers; adds these as the kernel finds them fastest. */
  async #writeInOrder(
    keys: readonly ObjectKey[],
    plan: Planner,
    failures: WriteFailures,
  ): Promise<void> {
    for (const group of inGroups(keys, AT_ONCE)) {
      await this.#writeSome(plan(group).flatMap(makingOf), failures)
    }
    const made = keys.filter((key) => !failures.failed.has(key))
    const order = inOrderOfDeletion(made, await this.#parts.ipvs.services())
    for (const group of inGroups(order, AT_ONCE)) await this.#writeSome(plan(group), failures)
  }

  /** Returns whether the kernel took long. */
  async #writeSome(steps: readonly Step[], failures: WriteFailures): Promise<boolean> {
    const { clock } = this.#parts
    const start = clock.now()
    await this.#writeSteps(steps, failures)
    const commands = steps.reduce((sum, step) => sum + step.plan.commands.length, 0)
    return isSearching(clock.now() - start, commands)
  }

  async #writeSteps(steps: readonly Step[], { failed, left }: WriteFailures): Promise<void> {
    for (const { key, plan } of steps) this.#known.set(key, plan.text)
    const { unmade, incomplete } = await runPlans(this.#parts.ipvs, steps)
    const foreign = [...unmade].flatMap(([key, { code }]) => (code === FOREIGN ? [key] : []))
    this.#foreign = new Set([...this.#foreign, ...foreign])
    for (const key of unmade.keys()) this.#known.delete(key)
    await this.#read([...incomplete.keys()])
    for (const [key, why] of [...unmade, ...incomplete]) {
      failed.set(key, why)
      const text = this.#known.get(key)
      if (text !== undefined) left.set(key, digestText(text))
    }
  }

  async #remove(
    unset: readonly ObjectKey[],
    { failed }: WriteFailures,
  ): Promise<readonly ObjectKey[]> {
    const present = unset.filter((key) => this.#known.has(key))
    const draining = present.filter((key) => this.#parts.drains(key))
    const states = await this.states(draining)
    const isBusy = (key: ObjectKey) =>
      states.get(key)?.some(({ activeConnections }) => activeConnections > 0) ?? false
    const held = draining.filter(isBusy)
    const busy = new Set(held)
    const idle = present.filter((key) => !busy.has(key))
    const commands = idle.map((key): IpvsCommand => ({ do: 'deleteService', id: serverIdOf(key) }))
    const refusals = await this.#parts.ipvs.run(commands)
    for (const key of idle) this.#known.delete(key)
    for (const { index, errno, message } of refusals) {
      const key = idle[index]
      if (key && errno !== 'ESRCH') failed.set(key, { code: 'NP_IPVS_REFUSED', message })
    }
    await this.#read(idle.filter((key) => failed.has(key)))
    const hold = (key: ObjectKey) => planHold(serverIdOf(key), this.#known.get(key) ?? '|')
    const plan = (keys: readonly ObjectKey[]) => keys.map((key) => ({ key, plan: hold(key) }))
    await this.#write(held, plan, { failed: new Map(), left: new Map() })
    return held
  }
}

/** Of a plan that makes a virtual server, only that. */
function makingOf({ key, plan }: Step): readonly Step[] {
  const commands = plan.commands.filter((command) => command.do === 'addService')
  return commands.length === 0 ? [] : [{ key, plan: { commands, text: bareText(plan.text) } }]
}
