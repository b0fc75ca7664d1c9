import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { milliQuantity, wholeQuantity } from '../../resources/quantity.ts'

/** Amounts of what a node has and a Pod takes; never negative. */
export interface Resources {
  /** In thousandths of a processor. */
  readonly cpuMillis: number
  /** In bytes. */
  readonly memory: number
  /** `ephemeral-storage`, in bytes. */
  readonly storage: number
  /** Of every other resource, by its name, such as `example.com/gpu`. */
  readonly others: Readonly<Record<string, number>>
}

const NO_OTHERS: Resources['others'] = {}
const NOTHING: Resources = { cpuMillis: 0, memory: 0, storage: 0, others: NO_OTHERS }
const KNOWN: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pods']

/** Reads a list of resources, such as `status.allocatable`, without `pods`. What is no quantity counts as 0. */
export function readResources(list: JsonObject): Resources {
  const keys = Object.keys(list)
  if (keys.length === 0) return NOTHING
  const others = keys.filter((key) => !KNOWN.includes(key))
  return {
    cpuMillis: milliQuantity(list['cpu']) ?? 0,
    memory: wholeQuantity(list['memory']) ?? 0,
    storage: wholeQuantity(list['ephemeral-storage']) ?? 0,
    others:
      others.length === 0
        ? NO_OTHERS
        : Object.fromEntries(others.map((key) => [key, wholeQuantity(list[key]) ?? 0])),
  }
}

/**
 * What a Pod takes of its node: the sum of its containers and sidecars, or what the init container that needs most
 * takes beside the sidecars before it, if that is more; and the overhead. A limit counts as the request where there
 * is no request.
 */
export function readRequests(spec: JsonObject): Resources {
  let running = arrayAt(spec, 'containers').map(requestsOf).reduce(plus, NOTHING)
  let [sidecars, starting] = [NOTHING, NOTHING]
  for (const container of arrayAt(spec, 'initContainers')) {
    const own = requestsOf(container)
    if (stringAt(container, 'restartPolicy') === 'Always') {
      running = plus(running, own)
      sidecars = plus(sidecars, own)
    } else starting = larger(starting, plus(sidecars, own))
  }
  return plus(larger(running, starting), readResources(objectAt(spec, 'overhead')))
}

function requestsOf(container: Json): Resources {
  const limits = objectAt(container, 'resources', 'limits')
  return readResources({ ...limits, ...objectAt(container, 'resources', 'requests') })
}

function plus(a: Resources, b: Resources): Resources {
  if (a === NOTHING || b === NOTHING) return a === NOTHING ? b : a
  return combined(a, b, (x, y) => x + y)
}

/** Of each resource the greater amount. */
function larger(a: Resources, b: Resources): Resources {
  if (a === NOTHING || b === NOTHING) return a === NOTHING ? b : a
  return combined(a, b, Math.max)
}

function combined(a: Resources, b: Resources, join: (x: number, y: number) => number): Resources {
  const names = [...Object.keys(a.others), ...Object.keys(b.others)]
  return {
    cpuMillis: join(a.cpuMillis, b.cpuMillis),
    memory: join(a.memory, b.memory),
    storage: join(a.storage, b.storage),
    others:
      names.length === 0
        ? NO_OTHERS
        : Object.fromEntries(names.map((one) => [one, join(amountOf(a, one), amountOf(b, one))])),
  }
}

/** The amount of another resource; 0 without it. */
export function amountOf({ others }: Resources, name: string): number {
  return Object.hasOwn(others, name) ? (others[name] ?? 0) : 0
}
