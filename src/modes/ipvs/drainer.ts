import type { IpvsCommand, RealServerState } from '../../kernel/ipvs/ipvs.ts'
import type { Clock } from '../../lib/clock.ts'
import { hostPort } from '../../lib/ip.ts'
import type { ObjectKey } from '../mode.ts'
import { addressOf, serverIdOf } from './objects/object.ts'
import { quiescentIn, withoutServers } from './servers/server-commands.ts'
import type { VirtualServers } from './servers/virtual-servers.ts'

/** Virtual servers that one step checks. */
const PER_STEP = 64

/**
 * Lets removed backends finish their connections. A backend of weight 0 is deleted when it has no connections, or at its
 * deadline. A virtual server that no Service wants is deleted when none of its backends has an established connection, or
 * when their deadlines have passed. There is no record besides the state of the kernel, so backends that an earlier run
 * left go on draining; their deadlines count from the start of this run.
 */
export class Drainer {
  readonly #servers: VirtualServers
  readonly #clock: Pick<Clock, 'now'>
  readonly #millisOf: (key: ObjectKey) => number
  /** Deadlines of draining backends, by virtual server and `ip:port`, in milliseconds of `clock`. */
  readonly #deadlines = new Map<ObjectKey, Map<string, number>>()
  readonly #held = new Set<ObjectKey>()

  constructor(
    servers: VirtualServers,
    clock: Pick<Clock, 'now'>,
    millisOf: (key: ObjectKey) => number,
  ) {
    this.#servers = servers
    this.#clock = clock
    this.#millisOf = millisOf
  }

  /** Backends that take no new connections any more but have some. */
  get count(): number {
    return [...this.#deadlines.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Whether no virtual server waits for the end of connections. */
  get isEmpty(): boolean {
    return this.#deadlines.size === 0
  }

  /** Whether a virtual server that no Service wants stays for its connections. */
  isHeld(key: ObjectKey): boolean {
    return this.#held.has(key)
  }

  /** Keeps a virtual server that no Service wants until its connections have ended. */
  hold(key: ObjectKey): void {
    this.#held.add(key)
  }

  /** Called when a Service wants the virtual server again. */
  release(key: ObjectKey): void {
    this.#held.delete(key)
  }

  /**
   * Finds out which backends of these virtual servers drain, from their last known state. A held virtual server that
   * has no backend left is deleted in the next step.
   */
  review(keys: Iterable<ObjectKey>): void {
    for (const key of keys) {
      const text = this.#servers.texts.get(key)
      const names = text === undefined ? [] : quiescentIn(text)
      if (text === undefined) this.#held.delete(key)
      if (names.length === 0 && !this.#held.has(key)) {
        this.#deadlines.delete(key)
        continue
      }
      const before = this.#deadlines.get(key)
      const end = this.#clock.now() + this.#millisOf(key)
      this.#deadlines.set(key, new Map(names.map((name) => [name, before?.get(name) ?? end])))
    }
  }

  /** Deletes what has drained among the next few virtual servers; returns the virtual servers that are gone. */
  async step(): Promise<readonly ObjectKey[]> {
    const keys = [...this.#deadlines.keys()].slice(0, PER_STEP)
    if (keys.length === 0) return []
    const states = await this.#servers.states(keys)
    const commands: IpvsCommand[] = []
    const texts = new Map<ObjectKey, string | undefined>()
    for (const key of keys) {
      const plan = this.#finish(key, states.get(key))
      commands.push(...plan.commands)
      if (plan.commands.length > 0) texts.set(key, plan.text)
    }
    if (commands.length > 0) await this.#servers.send(commands, texts)
    this.#requeue(keys)
    const gone = keys.filter((key) => this.#held.has(key) && !this.#servers.texts.has(key))
    this.review(keys)
    return gone
  }

  /** Puts these at the end of the queue: the others come first next time. */
  #requeue(keys: readonly ObjectKey[]): void {
    for (const key of keys) {
      const deadlines = this.#deadlines.get(key)
      this.#deadlines.delete(key)
      if (deadlines) this.#deadlines.set(key, deadlines)
    }
  }

  #finish(key: ObjectKey, states: readonly RealServerState[] = []) {
    const id = serverIdOf(key)
    const done = this.#done(key, states)
    const text = this.#servers.texts.get(key) ?? '|'
    const isLast = done.size === this.#deadlines.get(key)?.size
    if (this.#held.has(key)) {
      const commands: IpvsCommand[] = isLast ? [{ do: 'deleteService', id }] : []
      return { commands, text: undefined }
    }
    const commands = [...done].map(
      (name): IpvsCommand => ({ do: 'deleteServer', id, server: addressOf(name) }),
    )
    return { commands, text: withoutServers(text, done) }
  }

  #done(key: ObjectKey, states: readonly RealServerState[]): ReadonlySet<string> {
    const byName = new Map(states.map((state) => [hostPort(state.ip, state.port), state]))
    const now = this.#clock.now()
    const done = [...(this.#deadlines.get(key) ?? [])].filter(([name, deadline]) => {
      const state = byName.get(name)
      if (state === undefined || now >= deadline) return true
      const closing = this.#held.has(key) ? 0 : state.inactiveConnections
      return state.activeConnections + closing === 0
    })
    return new Set(done.map(([name]) => name))
  }
}
