import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OrchctlShell, openOrchctlShell } from '../support/orchctl/orchctl-shell.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'
import { ENDING_IMAGE, startHollowNodes } from '../upstream/workloads/hollow-nodes.ts'

const NODES = ['node-1', 'node-2']
const WAIT = '--timeout=120s'

let server: OrchServerProcess
let nodes: AsyncDisposable
let shell: OrchctlShell

beforeAll(async () => {
  server = await startOrchServer()
  nodes = await startHollowNodes(server.kubeconfig, NODES)
  shell = await openOrchctlShell(server.kubeconfig)
})

afterAll(async () => {
  await nodes?.[Symbol.asyncDispose]()
  await shell?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

/** Columns of orchctl are one space wider. */
function narrow(text: string): string {
  return text.replaceAll(/ +/g, ' ')
}

function workload(kind: string, spec = ''): string {
  return `apiVersion: apps/v1
kind: ${kind}
metadata: {name: w}
spec:
  ${spec}
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {containers: [{name: c, image: 'none:1'}], terminationGracePeriodSeconds: 1}
`
}

describe.each([
  ['deployments', workload('Deployment', 'replicas: 3')],
  ['daemonsets', workload('DaemonSet')],
  ['statefulsets', workload('StatefulSet', 'serviceName: w\n  replicas: 2')],
])('%s', (plural, manifest) => {
  const n = ['-n', plural]
  const it = `${plural}/w`
  const rollout = (...args: readonly string[]) => shell.run(['rollout', ...args, ...n])
  const done = async (...args: readonly string[]): Promise<string> => {
    const said = await shell.ok([...args, ...n])
    await shell.ok(['rollout', 'status', it, WAIT, ...n])
    return said
  }
  const image = () => shell.ok(['get', it, '-o', 'jsonpath={..image}', ...n])

  beforeAll(async () => {
    await shell.ok(['create', 'namespace', plural])
    await shell.write(`${plural}.yaml`, manifest)
    await done('apply', '-f', `${plural}.yaml`)
  })

  test('are followed, and their history is listed, as kubectl does it', async () => {
    expect(await done('set', 'image', it, 'c=none:2')).toBe(
      `${it.replace(/^(\w+)s\//, '$1.apps/')} image updated\n`,
    )
    expect(await image()).toBe('none:2')
    for (const command of [
      ['status', it, WAIT],
      ['status', it, '--watch=false'],
      ['history', it],
    ]) {
      const theirs = await shell.program('kubectl', ['rollout', ...command, ...n])
      const same = command.map((one) => (one === '--watch=false' ? '--no-watch' : one))
      const ours = await shell.ok(['rollout', ...same, ...n])
      expect([command, narrow(ours)]).toEqual([command, narrow(theirs)])
    }
    const shown = await shell.ok(['rollout', 'history', it, '--revision=1', ...n])
    expect(shown).toMatch(/with revision #1\nPod Template:[^]*Image: +none:1\n/)
    expect(await rollout('history', it, '--revision=7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no revision 7'),
    })
  })

  test('go back, and are restarted', async () => {
    expect(await done('rollout', 'undo', it)).toMatch(/ rolled back\n$/)
    expect(await image()).toBe('none:1')
    expect(await done('rollout', 'undo', it, '--to-revision=2')).toMatch(/ rolled back\n$/)
    expect(await image()).toBe('none:2')
    const again = await shell.ok(['rollout', 'undo', it, '--to-revision=4', ...n])
    expect(again).toMatch(/skipped rollback \(current template already matches revision 4\)/)
    const before = await shell.ok(['get', 'pods', '-o', 'name', ...n])
    expect(await done('rollout', 'restart', it)).toMatch(/ restarted\n$/)
    // The names of the Pods of a StatefulSet stay.
    const after = await shell.ok(['get', 'pods', '-o', 'jsonpath={..uid}', ...n])
    expect(after).not.toBe('')
    if (plural !== 'statefulsets') {
      expect(await shell.ok(['get', 'pods', '-o', 'name', ...n])).not.toBe(before)
    }
  })
})

const JOB = `apiVersion: batch/v1
kind: Job
metadata: {name: w}
spec:
  completions: 2
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: '${ENDING_IMAGE}'}]}}
`

test('a Job is listed and described once it is complete, and deleted', async () => {
  const n = ['-n', 'jobs']
  await shell.ok(['create', 'namespace', 'jobs'])
  expect(await shell.ok(['apply', '-f', '-', ...n], { input: JOB })).toBe('job.batch/w created\n')
  await shell.program('kubectl', ['wait', '--for=condition=complete', 'job/w', WAIT, ...n])
  expect(await shell.ok(['get', 'jobs', ...n])).toMatch(
    /^NAME +STATUS +COMPLETIONS +DURATION +AGE\nw +Complete +2\/2 +\d+s +\d+s\n$/,
  )
  // Events are written while the server goes on.
  await expect
    .poll(() => shell.ok(['describe', 'job/w', ...n]), { timeout: 20_000 })
    .toMatch(/CompletionsReached[^]*SuccessfulCreate[^]*Job completed/)
  expect(await shell.ok(['delete', 'job', 'w', ...n])).toBe('job.batch "w" deleted\n')
})

test('a Deployment that is paused rolls nothing out', async () => {
  const n = ['-n', 'deployments']
  const run = (...args: readonly string[]) => shell.run([...args, ...n])
  expect(await shell.ok(['rollout', 'pause', 'deploy/w', ...n])).toBe('deployment.apps/w paused\n')
  expect(await run('rollout', 'pause', 'deploy/w')).toMatchObject({ code: 1 })
  for (const command of ['restart', 'undo']) {
    expect(await run('rollout', command, 'deploy/w')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ is paused .*NP_ORCHCTL_PRECONDITION/),
    })
  }
  expect(await shell.ok(['rollout', 'resume', 'deploy/w', ...n])).toBe(
    'deployment.apps/w resumed\n',
  )
  expect(await run('rollout', 'status', 'svc/kubernetes')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NP_ORCHCTL_NO_ROLLOUT'),
  })
  expect(await run('set', 'image', 'deploy/w', 'other=none:1')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('it has c'),
  })
})

test('a rollout that does not get on within the timeout is an error', async () => {
  const n = ['-n', 'deployments']
  await shell.ok(['set', 'image', 'deploy/w', 'c=example.com/broken:1', ...n])
  const late = await shell.run(['rollout', 'status', 'deploy/w', '--timeout=2s', ...n])
  expect(late).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('Waiting for deployment "w" rollout to finish'),
    stderr: expect.stringContaining('within --timeout'),
  })
  await shell.ok(['rollout', 'undo', 'deploy/w', ...n])
  await shell.ok(['rollout', 'status', 'deploy/w', WAIT, ...n])
})

test('a node is drained within a budget, once the flags allow it', async () => {
  const on = async (node: string): Promise<string> => {
    const flags = ['--field-selector', `spec.nodeName=${node}`, '-A', '-o', 'name']
    return shell.ok(['get', 'pods', ...flags])
  }
  expect(await on('node-1')).toContain('pod/w-')
  const refused = await shell.run(['drain', 'node-1'])
  expect(refused).toMatchObject({ code: 1, stdout: 'node/node-1 cordoned\n' })
  expect(refused.stderr).toMatch(/daemonsets\/w-\w+ \(--ignore-daemonsets\)/)
  const drained = await shell.ok(['drain', 'node-1', '--ignore-daemonsets', WAIT])
  expect(drained).toMatch(
    /^node\/node-1 already cordoned\nevicting pod [^]*node\/node-1 drained\n$/,
  )
  expect((await on('node-1')).trim().split('\n')).toHaveLength(1)
  expect(await shell.ok(['uncordon', 'node-1'])).toBe('node/node-1 uncordoned\n')
  expect(await shell.ok(['uncordon', 'node-1'])).toBe('node/node-1 already uncordoned\n')
})
