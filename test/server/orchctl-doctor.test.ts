import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OrchctlShell, openOrchctlShell } from '../support/orchctl/orchctl-shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

let server: OrchServerProcess
let shell: OrchctlShell

beforeAll(async () => {
  server = await startOrchServer()
  shell = await openOrchctlShell(server.kubeconfig)
})

afterAll(async () => {
  await shell?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

test('a new cluster has nothing, in any namespace and in all', async () => {
  for (const scope of [[], ['-A'], ['-n', 'kube-system']]) {
    const { code, stdout, stderr } = await shell.run(['doctor', ...scope])
    expect([scope, code, stdout, stderr]).toEqual([scope, 0, 'nothing was found\n', ''])
  }
})

test('a selector that matches nothing is shown with the nearest labels and a command', async () => {
  await shell.ok(['create', 'namespace', 'shop'])
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1', labels: { app: 'wbe' } },
    spec: { containers: [{ name: 'main', image: 'none' }] },
  }
  await shell.ok(['create', '-f', '-', '-n', 'shop'], { input: JSON.stringify(pod) })
  await shell.ok(['create', 'service', 'clusterip', 'web', '--tcp=80', '-n', 'shop'])
  const { code, stdout } = await shell.run(['doctor', 'service/web', '-n', 'shop'])
  expect(code).toBe(1)
  expect(stdout).toContain(
    'Service not reachable: service/shop/web: the selector app=web matches no Pod of the namespace shop\n',
  )
  expect(stdout).toContain('seen: pod/web-1 differs only in app="wbe" instead of "web"\n')
  expect(stdout).toContain('$ orchctl -n shop edit service/web\n')
  expect((await shell.run(['doctor', 'pod/web-1', '-n', 'shop'])).code).toBe(0)
})

test('a binding to no role is found, as JSON; what may not be read is named', async () => {
  await shell.ok(['create', 'namespace', 'rights'])
  await shell.ok(['create', 'serviceaccount', 'robot', '-n', 'rights'])
  const binding = [
    'create',
    'rolebinding',
    'reads',
    '--role=reader',
    '--serviceaccount=rights:robot',
  ]
  await shell.ok([...binding, '-n', 'rights'])
  const { code, stdout } = await shell.run(['doctor', '-n', 'rights', '-o', 'json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject([
    {
      check: 'broken-binding',
      symptom: 'Permission denied',
      object: 'rolebinding/rights/reads',
      affects: ['serviceaccount/rights/robot'],
    },
  ])
  const limited = await shell.run(['doctor', '-n', 'rights', '--as=alice'])
  expect(limited.stdout).toBe('nothing was found\n')
  expect(limited.stderr).toMatch(/not checked: services: .*cannot list resource "services"/)
})

test('what is not there, and what cannot be checked, is refused', async () => {
  expect((await shell.run(['doctor', 'service/absent'])).stderr).toContain('"absent" not found')
  const wrong = await shell.run(['doctor', 'configmap/x'])
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('cannot be checked')])
})
