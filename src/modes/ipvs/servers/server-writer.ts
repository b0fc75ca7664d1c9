import type { Ipvs, IpvsCommand, VirtualServer } from '../../../kernel/ipvs/ipvs.ts'
import type { Clock } from '../../../lib/clock.ts'
import { inGroups } from '../../../lib/groups.ts'
import type { Digest, KernelError, ObjectKey } from '../../mode.ts'
import { serverIdOf, serverKey } from '../objects/object.ts'
import { planHold, planServer, type ServerPlan } from './server-commands.ts'
import { bareText, digestOf, type ServerSpec, scheduledBy } from './server-spec.ts'
import type { VirtualServers } from './virtual-servers.ts'

/** The usual time is 0.01 to 0.03 ms. */
const SLOW_MS_PER_COMMAND = 0.1

/** What `ServerWriter` works with. */
interface ServerWriterParts {
  readonly ipvs: Ipvs
  /** Records what was written. */
  readonly servers: VirtualServers
  readonly clock: Pick<Clock, 'now'>
  /** What a virtual server should be; undefined if it is not wanted any more. */
  specOf(key: ObjectKey): ServerSpec | undefined
  /** Whether connections of this virtual server outlive their backend. */
  drains(key: ObjectKey): boolean
  /** The scheduler to use where the kernel has no module for that of a Service. */
  readonly scheduler: string
}

/** Virtual servers written at a time: the memory of their commands is freed in between. */
const AT_ONCE = 48

type Planner = (keys: readonly ObjectKey[]) => readonly Step[]

/** What one change could not write, as in `ApplyResult`; filled step by step. */
export interface WriteFailures {
  readonly failed: Map<ObjectKey, KernelError>
  /** The state in the kernel of what was refused. */
  readonly left: Map<ObjectKey, Digest>
}

/** The result of one `apply`. */
interface ServersResult {
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
  /** The state in the kernel of what was refused. */
  readonly left: ReadonlyMap<ObjectKey, Digest>
  /** Unwanted ones that stay until their connections have ended. */
  readonly held: readonly ObjectKey[]
}

/**
 * Writes virtual servers with their real servers. Refusals are values by object, and
 * what was refused is read back; lost answers throw `NodeProxyError`.
 */
export class ServerWriter {
  readonly #parts: ServerWriterParts

  constructor(parts: ServerWriterParts) {
    this.#parts = parts
  }

  /** Writes `set` as `specOf` describes them; deletes `unset`, or holds those that still have connections. */
  async apply(set: readonly ObjectKey[], unset: readonly ObjectKey[]): Promise<ServersResult> {
    const failures: WriteFailures = { failed: new Map(), left: new Map() }
    await this.#write(set, (keys) => this.#plans(keys), failures)
    await this.#withFallback(set, failures)
    const held = await this.#remove(unset, failures)
    return { ...failures, held }
  }

  #plans(keys: readonly ObjectKey[], scheduler?: string): readonly Step[] {
    return keys.flatMap((key) => {
      const wanted = this.#parts.specOf(key)
      if (wanted === undefined) return []
      const spec = scheduler === undefined ? wanted : scheduledBy(wanted, scheduler)
      const held = this.#parts.servers.texts.get(key)
      const drains = this.#parts.drains(key)
      return [{ key, plan: planServer(serverIdOf(key), spec, { held, drains }) }]
    })
  }

  /** If only the scheduler is missing, uses another one: this is better than not serving the Service. */
  async #withFallback(set: readonly ObjectKey[], { failed, left }: WriteFailures): Promise<void> {
    const unscheduled = set.filter((key) => failed.get(key)?.code === 'NP_IPVS_SCHEDULER')
    if (unscheduled.length === 0) return
    const again: WriteFailures = { failed: new Map(), left: new Map() }
    const { scheduler } = this.#parts
    await this.#write(unscheduled, (keys) => this.#plans(keys, scheduler), again)
    for (const key of unscheduled) {
      const why = again.failed.get(key)
      if (why?.code === FOREIGN) failed.set(key, why)
      this.#noteLeft(key, left)
    }
  }

  async #write(keys: readonly ObjectKey[], plan: Planner, failures: WriteFailures): Promise<void> {
    let written = 0
    for (const group of inGroups(keys, AT_ONCE)) {
      const isSlow = await this.#writeTimed(plan(group), failures)
      written += group.length
      const isMuchLeft = keys.length - written > AT_ONCE
      if (isSlow && isMuchLeft) return this.#writeInOrder(keys.slice(written), plan, failures)
    }
  }

  /**
   * Creates those that are missing, without real servers, then adds these in the order that is fastest for the kernel.
   */
  async #writeInOrder(
    keys: readonly ObjectKey[],
    plan: Planner,
    failures: WriteFailures,
  ): Promise<void> {
    for (const group of inGroups(keys, AT_ONCE)) {
      await this.#writeSteps(plan(group).flatMap(creationOf), failures)
    }
    const made = keys.filter((key) => !failures.failed.has(key))
    const order = inOrderOfDeletion(made, await this.#parts.ipvs.services())
    for (const group of inGroups(order, AT_ONCE)) await this.#writeSteps(plan(group), failures)
  }

  /** Returns whether the kernel took long. */
  async #writeTimed(steps: readonly Step[], failures: WriteFailures): Promise<boolean> {
    const { clock } = this.#parts
    const start = clock.now()
    await this.#writeSteps(steps, failures)
    const commands = steps.reduce((sum, step) => sum + step.plan.commands.length, 0)
    return isSearching(clock.now() - start, commands)
  }

  async #writeSteps(steps: readonly Step[], { failed, left }: WriteFailures): Promise<void> {
    const { ipvs, servers } = this.#parts
    for (const { key, plan } of steps) servers.record(key, plan.text)
    const { unmade, incomplete } = await runPlans(ipvs, steps)
    servers.recordForeign([...unmade].flatMap(([key, { code }]) => (code === FOREIGN ? [key] : [])))
    for (const key of unmade.keys()) servers.record(key, undefined)
    await servers.reread([...incomplete.keys()])
    for (const [key, why] of [...unmade, ...incomplete]) {
      failed.set(key, why)
      this.#noteLeft(key, left)
    }
  }

  #noteLeft(key: ObjectKey, left: Map<ObjectKey, Digest>): void {
    const text = this.#parts.servers.texts.get(key)
    if (text !== undefined) left.set(key, digestOf(text))
  }

  /** Deletes those without established connections; returns the others, which now drain. */
  async #remove(
    unset: readonly ObjectKey[],
    { failed }: WriteFailures,
  ): Promise<readonly ObjectKey[]> {
    const present = unset.filter((key) => this.#parts.servers.texts.has(key))
    const held = await this.#busyAmong(present.filter((key) => this.#parts.drains(key)))
    const busy = new Set(held)
    const idle = present.filter((key) => !busy.has(key))
    await this.#delete(idle, failed)
    await this.#write(held, (keys) => this.#holds(keys), { failed: new Map(), left: new Map() })
    return held
  }

  async #busyAmong(keys: readonly ObjectKey[]): Promise<readonly ObjectKey[]> {
    const states = await this.#parts.servers.states(keys)
    return keys.filter((key) =>
      states.get(key)?.some(({ activeConnections }) => activeConnections > 0),
    )
  }

  async #delete(keys: readonly ObjectKey[], failed: Map<ObjectKey, KernelError>): Promise<void> {
    const { ipvs, servers } = this.#parts
    const commands = keys.map((key): IpvsCommand => ({ do: 'deleteService', id: serverIdOf(key) }))
    const refusals = await ipvs.run(commands)
    for (const key of keys) servers.record(key, undefined)
    for (const { index, errno, message } of refusals) {
      const key = keys[index]
      if (key && errno !== 'ESRCH') failed.set(key, { code: 'NP_IPVS_REFUSED', message })
    }
    await servers.reread(keys.filter((key) => failed.has(key)))
  }

  #holds(keys: readonly ObjectKey[]): readonly Step[] {
    const { texts } = this.#parts.servers
    return keys.map((key) => ({ key, plan: planHold(serverIdOf(key), texts.get(key) ?? '|') }))
  }
}

/** The part of a plan that creates the virtual server. */
function creationOf({ key, plan }: Step): readonly Step[] {
  const commands = plan.commands.filter((command) => command.do === 'addService')
  return commands.length === 0 ? [] : [{ key, plan: { commands, text: bareText(plan.text) } }]
}

/**
 * Whether `commands` took `ms` milliseconds, which is so long that the kernel must be searching; see
 * `inOrderOfDeletion`.
 */
function isSearching(ms: number, commands: number): boolean {
  return commands > 0 && ms / commands > SLOW_MS_PER_COMMAND
}

/**
 * The kernel keeps deleted real servers, thousands after a flush, on a
 * list for two minutes, newest first, and each addition searches
 * it from its start. A flush deletes in the order in which virtual servers are
 * listed: so the last of the list come first, and every search ends at once.
 * Otherwise adding 100,000 real servers after a flush takes minutes, not a second.
 * The kernel's list is `dest_trash` of net/netfilter/ipvs/ip_vs_ctl.c.
 */
function inOrderOfDeletion(
  keys: readonly ObjectKey[],
  listed: readonly VirtualServer[],
): readonly ObjectKey[] {
  const places = new Map(listed.map(({ id }, place) => [serverKey(id), place]))
  return keys.toSorted((a, b) => (places.get(b) ?? -1) - (places.get(a) ?? -1))
}

/** Code: another process has a virtual server there. */
export const FOREIGN = 'NP_IPVS_FOREIGN'

/** The commands for one virtual server. */
interface Step {
  readonly key: ObjectKey
  readonly plan: ServerPlan
}

/** The first refusal of each step. */
interface Refused {
  /** Virtual servers that could not be created. */
  readonly unmade: ReadonlyMap<ObjectKey, KernelError>
  /** Virtual servers that exist, but not as planned. */
  readonly incomplete: ReadonlyMap<ObjectKey, KernelError>
}

/**
 * Sends the commands of all steps; a lost answer throws `NodeProxyError`. A virtual server that could not be created
 * gets no real servers: it may be foreign.
 */
async function runPlans(ipvs: Pick<Ipvs, 'run'>, steps: readonly Step[]): Promise<Refused> {
  const makes = (command: IpvsCommand) => command.do === 'addService'
  const unmade = await run(ipvs, steps, makes)
  const made = steps.filter(({ key }) => !unmade.has(key))
  const incomplete = await run(ipvs, made, (command) => !makes(command))
  return { unmade, incomplete }
}

async function run(
  ipvs: Pick<Ipvs, 'run'>,
  steps: readonly Step[],
  isMeant: (command: IpvsCommand) => boolean,
): Promise<ReadonlyMap<ObjectKey, KernelError>> {
  const orders = steps.flatMap(({ key, plan }) =>
    plan.commands.filter(isMeant).map((command) => ({ key, command })),
  )
  const refused = new Map<ObjectKey, KernelError>()
  if (orders.length === 0) return refused
  for (const { index, errno, message } of await ipvs.run(orders.map(({ command }) => command))) {
    const order = orders[index]
    if (order === undefined || refused.has(order.key)) continue
    refused.set(order.key, { code: codeOf(order.command, errno), message })
  }
  return refused
}

function codeOf(command: IpvsCommand, errno: string): string {
  const isService = command.do === 'addService' || command.do === 'setService'
  if (isService && errno === 'ENOENT') return 'NP_IPVS_SCHEDULER'
  if (command.do === 'addService' && errno === 'EEXIST') return FOREIGN
  return 'NP_IPVS_REFUSED'
}
