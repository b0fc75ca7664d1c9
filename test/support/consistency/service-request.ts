import { type JsonObject, objectAt, stringAt, without } from '../../../src/lib/json.ts'
import type { Dice } from '../forwarding/seeded.ts'
import type { CallRequest, Reply } from './caller.ts'
import type { ObjectInput, ObjectOutput, SeenObject } from './object-model.ts'

export const SERVICES = '/api/v1/namespaces/default/services'

const WRITTEN = 'consistency.example/written'
const PATCHED = 'consistency.example/patched'

/** So few that clients conflict with each other. */
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const
const ADDRESSES = ['10.96.0.2', '10.96.0.3', '10.96.0.20'] as const
const PORTS = [30_000, 30_001, 30_009] as const

/** Flags of a server that has only as many addresses and node ports as there are Services. */
export const SCARCE = [
  '--service-cluster-ip-range=10.96.0.0/27',
  '--service-node-port-range=30000-30009',
] as const

/** A request about one Service, in the form of the history and as an HTTP request. */
export interface ServiceRequest {
  readonly name: string
  readonly input: ObjectInput
  readonly call: CallRequest
}

/** A random request; `known` is what this client saw last of each Service. */
export function someRequest(
  dice: Dice,
  token: string,
  known: ReadonlyMap<string, JsonObject>,
): ServiceRequest {
  const name = pick(dice, NAMES)
  const path = `${SERVICES}/${name}`
  const seen = known.get(name)
  const kind = dice(100)
  if (kind < 30) return { name, input: { verb: 'read' }, call: { method: 'GET', path } }
  if (kind < 50 && seen !== undefined) return updateOf(dice, token, seen)
  if (kind < 70) return patchOf(dice, token, name)
  if (kind < 80) return deletionOf(name, dice(2) === 0 ? seen : undefined)
  return creationOf(dice, token, name)
}

function updateOf(dice: Dice, token: string, seen: JsonObject): ServiceRequest {
  const { written: _written, ...kept } = seenObject(seen)
  const metadata = objectAt(seen, 'metadata')
  const annotations = { ...objectAt(metadata, 'annotations'), [WRITTEN]: token }
  const spec = { ...objectAt(seen, 'spec'), ...(dice(2) === 0 ? someType(dice) : {}) }
  const body = { ...without(seen, 'spec'), metadata: { ...metadata, annotations }, spec }
  const name = stringAt(metadata, 'name')
  const input = { verb: 'update', written: token, ...kept } as const
  return { name, input, call: { method: 'PUT', path: `${SERVICES}/${name}`, body } }
}

function patchOf(dice: Dice, token: string, name: string): ServiceRequest {
  const merge = { metadata: { annotations: { [PATCHED]: token } } }
  const path = `/metadata/annotations/${PATCHED.replace('/', '~1')}`
  const [type, body] = pick(dice, [
    ['application/merge-patch+json', merge],
    ['application/strategic-merge-patch+json', merge],
    ['application/json-patch+json', [{ op: 'add', path, value: token }]],
  ] as const)
  return {
    name,
    input: { verb: 'patch', patched: token },
    call: { method: 'PATCH', path: `${SERVICES}/${name}`, body, contentType: type },
  }
}

function deletionOf(name: string, seen: JsonObject | undefined): ServiceRequest {
  const call = { method: 'DELETE', path: `${SERVICES}/${name}` } as const
  if (seen === undefined) return { name, input: { verb: 'delete' }, call }
  const { version } = seenObject(seen)
  const preconditions = { resourceVersion: String(version) }
  return { name, input: { verb: 'delete', version }, call: { ...call, body: { preconditions } } }
}

export function creationOf(dice: Dice, token: string, name: string): ServiceRequest {
  const metadata = { name, annotations: { [WRITTEN]: token } }
  const address = dice(3) === 0 ? { clusterIP: pick(dice, ADDRESSES) } : {}
  const body = { metadata, spec: { ports: [{ port: 80 }], ...address, ...someType(dice) } }
  return {
    name,
    input: { verb: 'create', written: token },
    call: { method: 'POST', path: SERVICES, body },
  }
}

function someType(dice: Dice): JsonObject {
  const kind = dice(4)
  if (kind < 2) return { type: 'ClusterIP', ports: [{ port: 80 }] }
  const nodePort = kind === 2 ? { nodePort: pick(dice, PORTS) } : {}
  return { type: 'NodePort', ports: [{ port: 80, ...nodePort }] }
}

function pick<T>(dice: Dice, choices: readonly T[]): T {
  return choices[dice(choices.length)]!
}

/** What a model knows of a Service. */
export function seenObject(service: JsonObject): SeenObject {
  const metadata = objectAt(service, 'metadata')
  const annotations = objectAt(metadata, 'annotations')
  return {
    written: stringAt(annotations, WRITTEN),
    patched: stringAt(annotations, PATCHED),
    version: Number(stringAt(metadata, 'resourceVersion')),
  }
}

/**
 * What an answer says about the Service; `nothing`: it was refused for another reason; `unknown`: the server itself
 * does not know whether the request had an effect.
 */
export function outputOf(
  { verb, ...input }: ObjectInput,
  { status, body }: Reply,
): ObjectOutput | 'nothing' | 'unknown' {
  if (status >= 500) return verb === 'read' ? 'nothing' : 'unknown'
  if (status === 422 || status === 429) return 'nothing'
  if (status === 404) return { result: 'absent' }
  if (status === 409 && verb === 'create') {
    return body['reason'] === 'AlreadyExists' ? { result: 'exists' } : 'nothing'
  }
  if (status === 409) return 'version' in input ? { result: 'conflict' } : 'nothing'
  if (status > 201) throw new Error(`${verb} was answered ${status}: ${JSON.stringify(body)}`)
  if (verb === 'delete') return { result: 'deleted' }
  return { result: 'object', object: seenObject(body) }
}
