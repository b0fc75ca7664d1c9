import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Action } from '../../../auth/action.ts'
import type { User } from '../../../auth/user.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { catalogue } from '../../kinds/catalogue.ts'
import { type ServedVersion, servedVersionsOf } from '../../resource/resource.ts'
import { type AuditedRequest, AuditLog } from '../audit-log.ts'
import { parseAuditPolicy } from '../read-policy.ts'

export const ANN: User = { name: 'ann', uid: 'u-1', groups: ['dev', 'system:authenticated'] }

/** An audit log whose lines a test reads. */
export interface Audited {
  readonly log: AuditLog
  readonly lines: readonly string[]
  /** The levels of `onEvent`. */
  readonly counted: readonly string[]
  readonly clock: FakeClock
  /** Of `onError`. */
  readonly errors: readonly unknown[]
  /** How often the sink was closed. */
  closed(): number
  /** The events so far. */
  events(): readonly JsonObject[]
}

/** An audit log with the rules of a policy, written as in its file. */
export function audited(rules: string, top = ''): Audited {
  const lines: string[] = []
  let closed = 0
  const counted: string[] = []
  const errors: unknown[] = []
  const clock = new FakeClock()
  let serial = 0
  const text = `apiVersion: audit.orch.io/v1\nkind: Policy\n${top}\nrules: ${rules}\n`
  const log = new AuditLog({
    policy: parseAuditPolicy(text, 'test.yaml'),
    sinks: [{ write: (line) => void lines.push(line), close: async () => void closed++ }],
    clock,
    random: { uuid: () => `id-${++serial}` },
    onEvent: (level) => void counted.push(level),
    onError: (error) => void errors.push(error),
  })
  const events = (): readonly JsonObject[] => lines.map((line) => JSON.parse(line) as JsonObject)
  return { log, lines, counted, errors, closed: () => closed, clock, events }
}

export interface RequestParts {
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly remoteAddress?: string
  readonly user?: User | undefined
  readonly impersonated?: User
}

/** A request for a resource: `create pods shop/`, `get secrets shop/key`. */
export function requestFor(text: string, parts: RequestParts = {}): AuditedRequest {
  const [verb = '', what = '', where = '/'] = text.split(' ')
  const [plural = '', subresource = ''] = what.split('/')
  const [namespace = '', name = ''] = where.split('/')
  const served = servedNamed(plural)
  const group = served?.group ?? ''
  const action: Action = { verb, group, resource: plural, subresource, namespace, name }
  return { ...partsOf(parts), action, served }
}

/** A request for another path of the server: `get /metrics`. */
export function requestForPath(text: string, parts: RequestParts = {}): AuditedRequest {
  const [verb = '', path = ''] = text.split(' ')
  return { ...partsOf({ url: path, ...parts }), action: { verb, path }, served: undefined }
}

function partsOf(parts: RequestParts): Pick<AuditedRequest, 'request' | 'user' | 'impersonated'> {
  const { url = '/x', headers = {}, remoteAddress = '192.0.2.7' } = parts
  const user = 'user' in parts ? parts.user : ANN
  const { impersonated } = parts
  return { request: { url, headers, socket: { remoteAddress } }, user, impersonated }
}

function servedNamed(plural: string): ServedVersion | undefined {
  return catalogue.flatMap(servedVersionsOf).find(({ resource }) => resource.plural === plural)
}

/** The response to a request without a socket. */
export function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()))
}

/** As the server does when the last byte is sent. */
export function finish(response: ServerResponse, code: number): void {
  response.writeHead(code)
  response.emit('close')
}
