import { authorize } from '../../src/auth/rbac/authorize.ts'
import { Policy } from '../../src/auth/rbac/policy.ts'
import type { JsonObject } from '../../src/lib/json.ts'

/**
 * How many questions RBAC decides in a second with 1,000 roles and 5,000 bindings, indexed by subject
 * as the server does it, and beside it with one scan of all bindings for each question. Prints JSON.
 *
 *     scripts/node bench/auth/main.ts
 */
const ROLES = 1_000
const BINDINGS = 5_000
const NAMESPACES = 100
const USERS = 2_000
const ROUNDS = 9
const QUESTIONS = 100_000
/** The scan is slower by orders of magnitude. */
const SCANNED = 500

const roles: readonly JsonObject[] = Array.from({ length: ROLES }, (_, index) => ({
  metadata: { name: `role-${index}` },
  rules: [
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: [`kind-${index % 40}`, 'pods'] },
    { verbs: ['*'], apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'] },
    {
      verbs: ['get'],
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: [`name-${index}`],
    },
  ],
}))

const bindings: readonly JsonObject[] = Array.from({ length: BINDINGS }, (_, index) => ({
  metadata: { name: `binding-${index}`, namespace: `namespace-${index % NAMESPACES}` },
  roleRef: { kind: 'ClusterRole', name: `role-${index % ROLES}` },
  subjects: [
    { kind: 'User', name: `user-${index % USERS}` },
    { kind: 'Group', name: `group-${index % 50}` },
  ],
}))

const policy = policyOf(bindings)
/** A policy for each binding, with its role. */
const singles = bindings.map((binding, index) => {
  const one = new Policy()
  one.setRole(roles[index % ROLES]!)
  one.setBinding(binding)
  return one
})

const report = {
  roles: ROLES,
  bindings: BINDINGS,
  indexedPerSecond: spread(() => rate(QUESTIONS, (index) => decide(policy, index))),
  scannedPerSecond: spread(() => rate(SCANNED, scan)),
}
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)

function policyOf(some: readonly JsonObject[]): Policy {
  const made = new Policy()
  for (const role of roles) made.setRole(role)
  for (const binding of some) made.setBinding(binding)
  return made
}

/** Half of the questions are permitted. */
function decide(of: Policy, index: number): boolean {
  const user = {
    name: `user-${index % USERS}`,
    groups: [`group-${index % 50}`, 'system:authenticated'],
  }
  const action = {
    verb: index % 2 === 0 ? 'list' : 'delete',
    ...{ group: '', resource: 'pods', subresource: '', name: '' },
    namespace: `namespace-${index % NAMESPACES}`,
  }
  return authorize(of, user, action).isAllowed
}

/** Every binding on its own, as without an index. */
function scan(index: number): boolean {
  return singles.some((one) => decide(one, index))
}

function rate(count: number, question: (index: number) => boolean): number {
  const began = performance.now()
  let permitted = 0
  for (let index = 0; index < count; index++) if (question(index)) permitted++
  const seconds = (performance.now() - began) / 1000
  if (permitted === 0 || permitted === count) throw new Error('the questions have one answer')
  return Math.round(count / seconds)
}

function spread(measure: () => number) {
  measure()
  const all = Array.from({ length: ROUNDS }, measure).toSorted((a, b) => a - b)
  return { median: all[ROUNDS >> 1], lowest: all[0], highest: all.at(-1) }
}
