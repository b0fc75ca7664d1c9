import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DESCRIBED, OBJECTS } from '../support/orchctl/described-objects.ts'
import { type OrchctlShell, openOrchctlShell } from '../support/orchctl/orchctl-shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

/** `orchctl describe` beside the real kubectl: every line of its, and what only this project knows. */
let server: OrchServerProcess
let shell: OrchctlShell

beforeAll(async () => {
  server = await startOrchServer()
  shell = await openOrchctlShell(server.kubeconfig)
  await shell.ok(['apply', '-f', await shell.write('objects.yaml', OBJECTS)])
})

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const IN_SHOP = ['-n', 'shop'] as const

/** Ages, of events too, differ by the moment, and lines under titles have no text of their own. */
function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replaceAll(/\s+/g, ' ')
        .replace(/^- /, '')
        .replace(/ \d+[smh]$/, '')
        .replace(/^((?:Normal|Warning) \S+) \S+/, '$1'),
    )
    .filter((line) => /[^-= ]/.test(line))
    .map((line) => line.replace(/:$/, ''))
}

test('a Service: endpoints that get nothing, problems, and events with their age', async () => {
  const uid = await shell.ok(['get', 'svc', 'web', '-o', 'jsonpath={.metadata.uid}', ...IN_SHOP])
  await shell.ok(['create', '-f', await shell.write('event.yaml', eventAbout(uid))])
  const text = await shell.ok(['describe', 'svc', 'web', ...IN_SHOP])
  expect(text).toMatch(/^Endpoints: +10\.0\.0\.1:8080\nNot Ready: +10\.0\.0\.2:8080\n/m)
  expect(text).toMatch(
    /^Problems:\n {2}\S.*: pod\/shop\/web-1: .*\n {4}remedy: \S[^]*\nEvents:\n {2}Type +Reason +Age +From +Message\n.*\n {2}Warning +Boo +\S+ \(x3 over \S+\) +tester +something happened\n$/m,
  )
  const plain = await shell.ok([
    'describe',
    'svc/web',
    '--no-problems',
    '--no-show-events',
    ...IN_SHOP,
  ])
  expect(plain).not.toMatch(/^(Problems|Events):/m)
})

test('what the problems of several objects are found by is read once', async () => {
  const { stderr } = await shell.run(['describe', 'svc', 'web', 'bare', 'far', '-v=6', ...IN_SHOP])
  expect(stderr.match(/\/clusterrolebindings\b/g)).toHaveLength(1)
})

test('what the user may not read is named, and the rest is there', async () => {
  await shell.ok(['create', 'sa', 'poor', ...IN_SHOP])
  const role = ['create', '-f', await shell.write('poor.yaml', POOR)]
  await shell.ok(role)
  const user = ['--as', 'system:serviceaccount:shop:poor']
  const text = await shell.ok(['describe', 'svc', 'web', ...IN_SHOP, ...user])
  expect(text).toMatch(/^Type: +LoadBalancer$/m)
  expect(text).toMatch(/^Endpoints: +<cannot be read: Forbidden>$/m)
  expect(text).toMatch(/^ {2}not checked, because they cannot be read: .*endpointslices.*pods/m)
  expect(text).toMatch(/^Events: +<cannot be read: Forbidden>$/m)
  const account = await shell.run(['describe', 'sa', 'robot', ...IN_SHOP, ...user])
  expect(account.code).toBe(1)
})

const eventAbout = (uid: string): string => `apiVersion: v1
kind: Event
metadata: {name: about, namespace: shop}
type: Warning
reason: Boo
message: something happened
count: 3
firstTimestamp: "2026-11-26T00:00:00Z"
lastTimestamp: "2026-11-26T01:00:00Z"
source: {component: tester}
involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: shop, uid: ${uid}}
`

const POOR = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: poor, namespace: shop}
rules: [{apiGroups: [""], resources: [services], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: poor, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: poor}
subjects: [{kind: ServiceAccount, name: poor, namespace: shop}]
`

describe('has every line of kubectl', () => {
  test.each(DESCRIBED)('%s', async (name) => {
    const missing = async (): Promise<readonly string[]> => {
      const theirs = linesOf(await shell.program('kubectl', ['describe', name, ...IN_SHOP]))
      const ours = new Set(linesOf(await shell.ok(['describe', name, ...IN_SHOP])))
      expect(theirs.length).toBeGreaterThan(3)
      return theirs.filter((line) => !ours.has(line))
    }
    // A controller may change the object between the two.
    await expect.poll(missing).toEqual([])
  })
})
