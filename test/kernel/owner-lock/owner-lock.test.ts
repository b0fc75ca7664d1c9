import { chmodSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deploy } from '../../support/flows/deploy.ts'
import { backendFlags } from '../../support/lab/daemon-config.ts'
import { createLab, type Lab } from '../../support/lab/lab.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { netState } from '../../support/lab/net-state.ts'
import { type LabProcess, startProcess } from '../../support/lab/process.ts'
import { asUser } from '../../support/other-user.ts'
import { launcherOf } from '../../support/programs.ts'

/** One process at a time writes the rules of a network namespace, and the next one learns which. */
const LAUNCHER = launcherOf('node-proxy')
const OTHER_PORTS = [
  '--healthz-bind-address=127.0.0.1:10266',
  '--metrics-bind-address=127.0.0.1:10259',
]
const UNPRIVILEGED_UID = 65_534
const LOCKED = /exit 1: .*NP_NODEPROXY_LOCKED.*task \\"daemon\\", pid \d+,.*--wait/s

let lab: Lab
let untouched: readonly string[]
const started: LabProcess[] = []

beforeEach(async () => {
  lab = await createLab()
  untouched = await netState(lab.node)
})
afterEach(async () => {
  for (const each of started.splice(0)) {
    each.signal('SIGKILL')
    await each.ended
  }
  await lab?.close()
})

async function serve(config = {}): Promise<void> {
  await lab.daemon.start({ config })
  await deploy(lab, {
    key: 'ns/owned',
    clusterIP: '172.30.72.1',
    endpoints: [{ ip: '10.180.0.1' }],
  })
  await lab.daemon.synced()
}

/** A second daemon with the same configuration, on other ports of its own. */
const second = (...flags: readonly string[]) => [
  LAUNCHER,
  `--config=${lab.daemon.configFile}`,
  ...backendFlags(),
  ...OTHER_PORTS,
  ...flags,
]

function background(command: readonly string[]): LabProcess {
  const process = startProcess(lab.node.namespace, command)
  started.push(process)
  return process
}

test('a second daemon, and --cleanup, learn who works here and change nothing', async () => {
  await serve()
  const before = await netState(lab.node)
  await expect(lab.node.namespace.exec(second('--wait=500ms'))).rejects.toThrow(LOCKED)
  await expect(lab.daemon.once(['--cleanup'])).rejects.toThrow(LOCKED)
  expect(await netState(lab.node)).toEqual(before)
  const init = [`--config=${lab.daemon.configFile}`, '--init-only', '--wait=0']
  await expect(lab.daemon.once(init)).rejects.toThrow(LOCKED)
})

test('--cleanup that waits begins when the daemon has ended', async () => {
  await serve()
  const cleanup = background([LAUNCHER, ...backendFlags(), '--cleanup', '--wait=60s'])
  await cleanup.said('waiting for the end of node-proxy')
  expect(await netState(lab.node)).not.toEqual(untouched)
  lab.daemon.signal('SIGTERM')
  expect(await cleanup.ended).toBe(0)
  expect(await netState(lab.node)).toEqual(untouched)
})

test('a daemon that starts waits for its predecessor, and a signal ends the wait', async () => {
  await serve()
  const waiting = background(second())
  await waiting.said('waiting for the end of node-proxy')
  waiting.signalAlone('SIGTERM')
  expect(await waiting.ended).toBe(0)
  const next = background(second())
  await next.said('waiting for the end of node-proxy')
  lab.daemon.signal('SIGTERM')
  await next.said('the cluster is listed')
})

test('after SIGKILL the next one begins at once', async () => {
  await serve()
  await lab.daemon.kill()
  await lab.daemon.start()
  expect(lab.daemon.logs()).not.toContain('waiting for')
})

test('connections that drain in userspace mode keep no successor waiting', async () => {
  await serve({ mode: 'userspace', userspace: { shutdownTimeout: '60s' } })
  const { agent } = await lab.site('pod', '10.0.0.2')
  const client = {
    protocol: 'TCP',
    source: '10.0.0.2',
    destination: '172.30.72.1',
    port: 80,
  } as const
  const { id } = await agent.call('open', client)
  lab.daemon.signal('SIGTERM')
  await expect.poll(() => lab.daemon.logs()).toContain('have time to end')
  const next = background(second())
  await next.said('the cluster is listed')
  expect(await agent.call('ping', { id, timeoutMs: 1_000 })).toBe(true)
})

const squat = (answer: string) =>
  `require('net').createServer((s) => s.on('error', () => {}).end(${JSON.stringify(answer)}))
    .listen('\\0node-proxy', () => console.log('squatting'))`

test('an ordinary user cannot keep the daemon from its work, whatever it answers', async () => {
  const owner = { program: 'node-proxy', pid: 1, task: 'daemon' }
  const command = [process.execPath, '-e', squat(JSON.stringify(owner))]
  const squatter = background([...asUser(UNPRIVILEGED_UID, command)])
  await squatter.said('squatting')
  await serve()
  const conditionValue = async () =>
    sumOf(await lab.daemon.metrics(), 'nodeproxy_conditions', { reason: 'owner-lock' })
  expect(await conditionValue()).toBe(1)
  expect(lab.daemon.logs()).toContain('NP_NODEPROXY_LOCK_FOREIGN')
  squatter.signalAlone('SIGKILL')
  await squatter.ended
  await expect.poll(conditionValue).toBe(0)
  await expect(lab.daemon.once(['--cleanup'])).rejects.toThrow(LOCKED)
})

test('what has rights and is no node-proxy is named', async () => {
  const squatter = background([process.execPath, '-e', squat('hello')])
  await squatter.said('squatting')
  await expect(lab.daemon.once(['--cleanup'])).rejects.toThrow(
    /exit 1: .*pid \d+ of user 0 holds .*@node-proxy.*NP_NODEPROXY_LOCK_FOREIGN|NP_NODEPROXY_LOCK_FOREIGN.*pid \d+ of user 0/s,
  )
  squatter.signalAlone('SIGKILL')
  await squatter.ended
  await lab.daemon.once(['--cleanup'])
})

test('daemons of two network namespaces do not meet', async () => {
  await serve()
  const elsewhere = [LAUNCHER, ...backendFlags(), '--cleanup']
  await lab.outside.namespace.exec(elsewhere, { timeoutMs: 60_000 })
  expect(lab.daemon.isRunning()).toBe(true)
})

test('ordinary users that serve at addresses of their own need no lock', async () => {
  await serve()
  chmodSync(lab.folder, 0o755)
  const bind = ['--proxy-mode=userspace', '--oom-score-adj=0']
  const users = [UNPRIVILEGED_UID, UNPRIVILEGED_UID - 1].map((user, index) => {
    const ports = [`--healthz-port=${10_270 + index}`, `--metrics-port=${10_280 + index}`]
    const flags = [...bind, ...ports, `--userspace-bind-map=127.0.0.1:${8_080 + index}=ns/owned`]
    const command = [LAUNCHER, `--config=${lab.daemon.configFile}`, ...flags]
    return background([...asUser(user, command)])
  })
  for (const user of users) {
    await user.said('the cluster is listed')
    expect(user.output()).not.toContain('NP_NODEPROXY_LOCK')
  }
})
