import { arrayAt, isJsonObject, type JsonObject, stringAt } from '../../../../lib/json.ts'
import { nodePortKey } from '../../../allocation/allocation-keys.ts'
import { keysHeldBy, numberAt, protocolOf } from './held-keys.ts'
import { choosePort, type PortPolicy } from './port-policy.ts'

/**
 * The node port of each port of a Service: the one that it names, else the
 * one that it had, else a free one; 0 where none is free. A port is known by its
 * name, else by its number and protocol. What any port names is settled
 * before something is kept, and that before something is chosen, so that no port
 * takes what another one names.
 */
export function nodePortNumbers(
  spec: JsonObject,
  old: JsonObject,
  policy: PortPolicy,
): readonly number[] {
  const draft: Draft = {
    ports: arrayAt(spec, 'ports')
      .filter(isJsonObject)
      .map((port) => ({ port, number: numberAt(port, 'nodePort') })),
    before: arrayAt(old, 'ports').filter(isJsonObject),
    mine: new Set(keysHeldBy({ spec })),
    held: keysHeldBy({ spec: old }),
    policy,
  }
  fill(draft, (port) => keep(draft, port, hasSameName))
  fill(draft, (port) => keep(draft, port, hasSameNumber))
  fill(draft, (port) => choose(draft, port))
  return draft.ports.map(({ number }) => number)
}

interface Draft {
  /** Each with its node port; 0: not settled yet. */
  readonly ports: readonly { readonly port: JsonObject; number: number }[]
  readonly before: readonly JsonObject[]
  /** The keys that the Service is to have, as far as they are settled. */
  readonly mine: Set<string>
  /** The keys that it has. */
  readonly held: ReadonlySet<string>
  readonly policy: PortPolicy
}

function fill({ ports, mine }: Draft, propose: (port: JsonObject) => number): void {
  for (const entry of ports) {
    entry.number ||= propose(entry.port)
    if (entry.number !== 0) mine.add(nodePortKey(protocolOf(entry.port), entry.number))
  }
}

/** Under another protocol the number may belong to another Service by now. */
function keep(
  { before, mine, held, policy }: Draft,
  port: JsonObject,
  isSame: (one: JsonObject, other: JsonObject) => boolean,
): number {
  const number = numberAt(before.find((one) => isSame(one, port)) ?? {}, 'nodePort')
  const key = nodePortKey(protocolOf(port), number)
  if (mine.has(key)) return 0
  return held.has(key) || policy.pool.isFree(key) ? number : 0
}

/** One Service may use one number for several protocols, and prefers to. */
function choose({ ports, mine, policy }: Draft, port: JsonObject): number {
  const isFree = (number: number): boolean => {
    const key = nodePortKey(protocolOf(port), number)
    return policy.pool.isFree(key) && !mine.has(key)
  }
  const twins = ports.filter((one) => hasSamePort(one.port, port) && one.number !== 0)
  return twins.map(({ number }) => number).find(isFree) ?? choosePort(policy, isFree)
}

function hasSameName(one: JsonObject, other: JsonObject): boolean {
  return stringAt(one, 'name') === stringAt(other, 'name')
}

function hasSameNumber(one: JsonObject, other: JsonObject): boolean {
  return hasSamePort(one, other) && protocolOf(one) === protocolOf(other)
}

function hasSamePort(one: JsonObject, other: JsonObject): boolean {
  return one['port'] === other['port']
}
