import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JsonObject, stringAt } from '../../../src/lib/json.ts'

const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
}
const CHANGES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])

/** What each user did at orch-server or kube-apiserver, from its audit log. */
export interface AuditedUsers {
  /** The flags with which the server records every request. */
  readonly flags: readonly string[]
  /** `user: verb URI` of each request that no role permitted, without repetitions. */
  refused(): readonly string[]
  /** The `resource` or `resource/subresource` that each user wrote, in alphabetical order. */
  written(): Readonly<Record<string, readonly string[]>>
  /** The bindings that permitted a request of each user, in alphabetical order. */
  bindings(): Readonly<Record<string, readonly string[]>>
}

/** The policy and the log are files in `folder`. */
export function auditUsers(folder: string): AuditedUsers {
  const [policy, log] = [join(folder, 'policy.json'), join(folder, 'audit.log')]
  writeFileSync(policy, JSON.stringify(POLICY))
  const events = (): readonly JsonObject[] => eventsIn(readFileSync(log, 'utf8'))
  return {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    refused: () => [
      ...new Set(
        events()
          .filter((event) => annotation(event, 'decision') === 'forbid')
          .map((event) => `${userOf(event)}: ${stringAt(event, 'verb')} ${uriOf(event)}`),
      ),
    ],
    written: () =>
      byUser(
        events().filter((event) => CHANGES.has(stringAt(event, 'verb'))),
        resourceOf,
      ),
    bindings: () =>
      byUser(
        events().filter((event) => annotation(event, 'decision') === 'allow'),
        bindingOf,
      ),
  }
}

/** Complete lines only: the last one may still be written. */
function eventsIn(text: string): readonly JsonObject[] {
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject)
}

function byUser(
  events: readonly JsonObject[],
  valueOf: (event: JsonObject) => string,
): Readonly<Record<string, readonly string[]>> {
  const found = new Map<string, Set<string>>()
  for (const event of events) {
    const user = userOf(event)
    const values = found.get(user) ?? new Set()
    found.set(user, values.add(valueOf(event)))
  }
  return Object.fromEntries([...found].map(([user, values]) => [user, [...values].toSorted()]))
}

function userOf(event: JsonObject): string {
  return stringAt(event, 'user', 'username')
}

function uriOf(event: JsonObject): string {
  return stringAt(event, 'requestURI').replace(/\?.*/, '')
}

function resourceOf(event: JsonObject): string {
  const [resource, subresource] = ['resource', 'subresource'].map((field) =>
    stringAt(event, 'objectRef', field),
  )
  return subresource === '' ? resource! : `${resource}/${subresource}`
}

function bindingOf(event: JsonObject): string {
  const reason = annotation(event, 'reason')
  return /Binding "([^"]+)"/.exec(reason)?.[1] ?? reason
}

function annotation(event: JsonObject, name: string): string {
  return stringAt(event, 'annotations', `authorization.k8s.io/${name}`)
}
