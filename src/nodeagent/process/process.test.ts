import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { endLeftovers } from '../node-agent.ts'
import { runOnce } from '../pods/pod-processes.ts'
import { findProgram, requireProgram } from '../system/find-program.ts'
import { openContainerLog, openRotatingLog } from './container-log.ts'
import { type ProcessPlan, startProcess } from './container-process.ts'
import { launchWords, podMark } from './launch.ts'

const NO_USER = { uid: undefined, gid: undefined, groups: [] }
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'np-process-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function plan(command: readonly string[], more: Partial<ProcessPlan> = {}) {
  const setpriv = await requireProgram('setpriv')
  return {
    launch: { nsenter: '', setpriv, namespace: undefined, user: NO_USER },
    command,
    environment: new Map([['PATH', '/usr/bin:/bin']]),
    workingDir: '',
    log: undefined,
    ...more,
  }
}

test('the way into a namespace, and to a user; words stay words', () => {
  const [nsenter, setpriv] = ['/bin/nsenter', '/bin/setpriv']
  const shared = { nsenter, setpriv, namespace: 'pod-1' }
  expect(
    launchWords({ ...shared, user: { uid: 7, gid: undefined, groups: [] } }, ['-x', 'a b; $c']),
  ).toEqual([
    '/bin/nsenter',
    '--net=/run/netns/pod-1',
    '--',
    '/bin/setpriv',
    '--pdeathsig',
    'KILL',
    '--regid',
    '0',
    '--clear-groups',
    '--reuid',
    '7',
    '--',
    '-x',
    'a b; $c',
  ])
  expect(launchWords({ ...shared, namespace: undefined, user: NO_USER }, ['x'])).toEqual([
    '/bin/setpriv',
    '--pdeathsig',
    'KILL',
    '--',
    'x',
  ])
})

test('a container enters its mounts before its folder, and has the groups of its Pod', () => {
  const user = { uid: 7, gid: 8, groups: [9, 10] }
  const launch = { nsenter: '/n', setpriv: '/s', namespace: 'pod-1', mountNamespace: '/m', user }
  expect(launchWords(launch, ['x'], '/work')).toEqual([
    '/n',
    '--mount=/m',
    '--wdns=/work',
    '--net=/run/netns/pod-1',
    '--',
    '/s',
    '--pdeathsig',
    'KILL',
    '--regid',
    '8',
    '--groups',
    '9,10',
    '--reuid',
    '7',
    '--',
    'x',
  ])
  const none = { ...launch, mountNamespace: undefined, namespace: undefined }
  const groups = { ...none, user: { uid: undefined, gid: undefined, groups: [9] } }
  expect(launchWords(groups, ['x'])).toEqual([
    '/s',
    '--pdeathsig',
    'KILL',
    '--groups',
    '9',
    '--',
    'x',
  ])
})

test('a program that may hold a Secret is shown as the Pod names it', async () => {
  const wanted = await plan(['geheim'], { shownProgram: '$(PASSWORD)' })
  expect(await startProcess(wanted)).toBe('there is no program "$(PASSWORD)" that may be executed')
})

test('finds programs as a shell does', async () => {
  await writeFile(join(folder, 'tool'), '#!/bin/sh\n')
  expect(await findProgram('tool', `/nowhere:${folder}`)).toBeUndefined()
  await chmod(join(folder, 'tool'), 0o700)
  expect(await findProgram('tool', `/nowhere:${folder}`)).toBe(join(folder, 'tool'))
  expect(await findProgram('./tool', '', { folder })).toBe(join(folder, 'tool'))
  expect(await findProgram(folder, '')).toBeUndefined()
  await expect(requireProgram('no-such-program')).rejects.toThrow('no program no-such-program')
})

test('a process has its environment and nothing else, its folder and its log', async () => {
  const log = await openContainerLog(join(folder, 'logs', 'main.log'), systemClock)
  const environment = new Map([
    ['PATH', '/usr/bin:/bin'],
    ['A', 'x y'],
  ])
  const command = ['sh', '-c', 'env | grep -v "^PWD\\|^SHLVL\\|^_="; pwd >&2; exit 3']
  const child = await startProcess(await plan(command, { environment, workingDir: folder, log }))
  if (typeof child === 'string') throw new Error(child)
  expect(await child.ended).toEqual({ exitCode: 3, signal: 0 })
  await child.closed
  await log.close()
  const lines = (await readFile(join(folder, 'logs', 'main.log'), 'utf8')).trim().split('\n')
  const said = lines.map((line) => line.replace(/^\S+Z /, ''))
  const expected = [`stderr F ${folder}`, 'stdout F A=x y', 'stdout F PATH=/usr/bin:/bin']
  expect(said.toSorted()).toEqual(expected)
})

test('what a process started goes with it', async () => {
  const command = ['sh', '-c', 'sleep 1000 & echo $!; wait']
  const log = await openContainerLog(join(folder, 'main.log'), systemClock)
  const child = await startProcess(await plan(command, { log }))
  if (typeof child === 'string') throw new Error(child)
  const written = async () => (await readFile(join(folder, 'main.log'), 'utf8')).trim()
  while ((await written().catch(() => '')) === '') await new Promise(setImmediate)
  child.signal('SIGKILL')
  expect(await child.ended).toEqual({ exitCode: 0, signal: 9 })
  await child.closed
  await log.close()
})

test('who left its group with its output cannot hold it open here', async () => {
  const prefix = `np-process-${process.pid}`
  onTestFinished(() => endLeftovers(prefix, systemClock))
  const leaves = 'setsid sh -c "kill -9 \\$PPID; exec sleep 1000" & wait'
  const environment = new Map([['PATH', '/usr/bin:/bin'], podMark(prefix, 'u1')])
  const child = await startProcess(await plan(['sh', '-c', leaves], { environment }))
  if (typeof child === 'string') throw new Error(child)
  expect(await child.ended).toMatchObject({ signal: 9 })
  child.release()
  await child.closed
})

test('what a process leaves behind is ended', async () => {
  const child = await startProcess(await plan(['sh', '-c', 'sleep 1000 & exit 0']))
  if (typeof child === 'string') throw new Error(child)
  expect(await child.ended).toEqual({ exitCode: 0, signal: 0 })
  await child.closed
})

test.each([
  [['no-such-program'], '', 'there is no program "no-such-program" that may be executed'],
  [['sh'], '/no/such/folder', 'there is no folder "/no/such/folder"'],
])('%j in %j is refused', async (command, workingDir, words) => {
  expect(await startProcess(await plan(command, { workingDir }))).toBe(words)
})

test('a command of a probe: passed, failed, too late', async () => {
  const clock = new FakeClock()
  const run = async (...command: readonly string[]) => runOnce(await plan(command), 1_000, clock)
  expect(await run('true')).toEqual({ outcome: 'pass', message: '' })
  expect(await run('sh', '-c', 'exit 4')).toMatchObject({
    outcome: 'fail',
    message: 'the command ended with exit code 4',
  })
  const late = run('sleep', '1000')
  while (clock.pending().length === 0) await new Promise(setImmediate)
  await clock.advance(1_000)
  expect(await late).toEqual({ outcome: 'fail', message: 'no end within 1 s' })
})

test('a full log is rotated, and one before it is kept', async () => {
  const path = join(folder, 'main.log')
  const log = await openRotatingLog(path, 10)
  for (const text of ['12345\n', 'abc\n', '67890\n', 'xyz\n', 'last\n']) {
    await new Promise((resolve) => log.stream.write(text, resolve))
  }
  await log.close()
  expect(await readFile(`${path}.1`, 'utf8')).toBe('67890\nxyz\n')
  expect(await readFile(path, 'utf8')).toBe('last\n')
})
