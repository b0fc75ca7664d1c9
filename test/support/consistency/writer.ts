import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../../src/lib/json.ts'
import { type Dice, seeded } from '../forwarding/seeded.ts'
import { Caller, type CallOutcome, type CallRequest } from './caller.ts'
import type { History, Listed } from './history.ts'
import {
  creationOf,
  outputOf,
  SERVICES,
  type ServiceRequest,
  someRequest,
} from './service-request.ts'
import type { World } from './world.ts'

export interface WriterOptions {
  readonly world: World
  readonly history: History
  readonly seed: number
  readonly client: number
}

/** A client that sends random requests, one after the other, until it is stopped. */
export class Writer {
  readonly #options: WriterOptions
  readonly #dice: Dice
  readonly #known = new Map<string, JsonObject>()
  #tokens = 0
  #failedSince: number | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    this.#dice = seeded(options.seed + options.client)
  }

  async write(until: AbortSignal): Promise<void> {
    const { world, client } = this.#options
    await using caller = new Caller(world.servers, client)
    while (!until.aborted) {
      if (this.#dice(10) === 0) await this.#list(caller)
      else {
        const token = `${client}-${this.#tokens++}`
        await this.#request(caller, someRequest(this.#dice, token, this.#known))
      }
    }
  }

  /** Creates a Service of that name; its version, if that was answered with success. */
  async make(name: string): Promise<number | undefined> {
    const { world, history } = this.#options
    await using caller = new Caller(world.servers)
    await this.#request(caller, creationOf(this.#dice, name, name))
    const made = history.operations.findLast((operation) => operation.name === name)
    return made?.answer?.output.result === 'object' ? made.answer.output.object.version : undefined
  }

  async #request(caller: Caller, { name, input, call }: ServiceRequest): Promise<void> {
    const { history, client, world } = this.#options
    const called = history.tick()
    const outcome = await this.#send(caller, call)
    if (outcome === 'unreached') return world.someServer()
    const lost = outcome === 'unanswered'
    const output = lost ? 'unknown' : outputOf(input, outcome)
    if (output === 'nothing' || (output === 'unknown' && input.verb === 'read')) return
    const answer = output === 'unknown' ? undefined : { at: history.tick(), output }
    history.add({ name, client, input, called, answer })
    if (!lost && answer?.output.result === 'object') this.#known.set(name, outcome.body)
  }

  async #send(caller: Caller, call: CallRequest): Promise<CallOutcome> {
    const began = performance.now()
    const outcome = await caller.send(call)
    if (outcome === 'unreached' || outcome === 'unanswered') this.#failedSince ??= began
    else if (this.#failedSince !== undefined) {
      this.#options.history.outages.push(performance.now() - this.#failedSince)
      this.#failedSince = undefined
    }
    return outcome
  }

  async #list(caller: Caller): Promise<void> {
    const { history, world } = this.#options
    const called = history.tick()
    const outcome = await this.#send(caller, { method: 'GET', path: SERVICES })
    if (outcome === 'unreached') return world.someServer()
    if (outcome === 'unanswered' || outcome.status >= 500) return
    if (outcome.status !== 200) throw new Error(`a list was answered ${outcome.status}`)
    const list = listedOf(outcome.body, called, history.tick())
    history.addList(list)
    for (const [name, object] of list.objects) this.#known.set(name, object)
  }
}

/** A list of one namespace. */
export function listedOf(body: JsonObject, called: number, answered: number): Listed {
  const items = arrayAt(body, 'items').filter(isJsonObject)
  const version = Number(stringAt(objectAt(body, 'metadata'), 'resourceVersion'))
  const objects = new Map(items.map((item) => [stringAt(objectAt(item, 'metadata'), 'name'), item]))
  return { called, answered, version, objects }
}
