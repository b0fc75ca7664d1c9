import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { CGROUPS } from '../support/apart/scratch.ts'
import { run as runCommand } from '../support/lab/command.ts'
import { tieToUs } from '../support/tie-to-us.ts'
import { Cluster } from './lab/cluster.ts'
import { clusterFiles } from './lab/surroundings.ts'

const RUN = fileURLToPath(new URL('leftovers/run.ts', import.meta.url))
const MINUTES = 60_000

/** The folder in which this process gives commands to its shell is made with the first one. */
beforeAll(async () => void (await runCommand(['true'])))

test('a cluster that ends leaves the machine as it was', { timeout: 10 * MINUTES }, async () => {
  const before = stateOfMachine()
  {
    await using cluster = await Cluster.start(clusterFiles(), 1)
    expect(cluster.nodes).toHaveLength(1)
    expect(stateOfMachine()).not.toEqual(before)
  }
  await expect.poll(stateOfMachine).toEqual(before)
})

test.each([
  ['the command is interrupted', ({ command }: Run) => void command.kill('SIGTERM')],
  ['the command is killed', ({ command }: Run) => void command.kill('SIGKILL')],
  [
    'the first process of its namespaces is',
    ({ first }: Run) => void process.kill(first, 'SIGKILL'),
  ],
])('nothing is left where %s', { timeout: 10 * MINUTES }, async (_, end) => {
  const before = stateOfMachine()
  const run = await startRun()
  expect(stateOfMachine()).not.toEqual(before)
  end(run)
  await once(run.command, 'exit')
  await expect.poll(stateOfMachine, { timeout: MINUTES }).toEqual(before)
})

test('what is left where all of it is killed at once, the next run removes', {
  timeout: 15 * MINUTES,
}, async () => {
  const before = stateOfMachine()
  const run = await startRun()
  run.command.kill('SIGSTOP')
  process.kill(run.first, 'SIGKILL')
  run.command.kill('SIGKILL')
  await once(run.command, 'exit')
  await expect.poll(() => stateOfMachine().processes).toEqual(before.processes)
  expect(stateOfMachine().files).not.toEqual(before.files)
  const next = await startRun()
  expect(next.said.filter((line) => line.startsWith('removed '))).toHaveLength(1)
  next.command.kill('SIGTERM')
  await once(next.command, 'exit')
  await expect.poll(stateOfMachine, { timeout: MINUTES }).toEqual(before)
})

interface Run {
  /** What an operator started. */
  readonly command: ChildProcess
  /** The first process of its namespaces. */
  readonly first: number
  readonly said: readonly string[]
}

/** Resolves when a Pod runs. */
async function startRun(): Promise<Run> {
  const { programs, images } = clusterFiles()
  const command = spawn(process.execPath, [RUN, programs, images], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  tieToUs(command)
  const said: string[] = []
  for await (const line of createInterface({ input: command.stdout })) {
    said.push(line)
    if (line === 'ready') break
  }
  if (said.at(-1) !== 'ready') throw new Error(`it ended: ${said.join('\n')}`)
  const [unshare = 0] = childrenOf(command.pid ?? 0)
  const [first = 0] = childrenOf(unshare)
  return { command, first, said }
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** What containers, kubelets and networks could leave on the machine: here, in the namespaces of the tests. */
function stateOfMachine() {
  return {
    processes: readdirSync('/proc').flatMap(commandLineOf).toSorted(),
    mounts: readFileSync('/proc/self/mounts', 'utf8').replace(/^tmpfs \/run\/netns .*\n/m, ''),
    namespaces: linesOf('lsns', ['--noheadings', '--output=TYPE,COMMAND']),
    links: linesOf('ip', ['-brief', 'link']).map((line) => line.split(' ')[0]),
    named: readdirSync('/run').filter((name) => !TOOLS_KEEP.includes(name)),
    cgroups: globSync(['np-cluster-*', '*/np-cluster-*', '*/kubepods*'], { cwd: CGROUPS }),
    files: readdirSync(process.env['TMPDIR'] ?? '/var/tmp'),
    settings: SETTINGS.map((name) => readFileSync(join('/proc/sys', name), 'utf8')),
    folders: FOLDERS.filter((path) => existsSync(path)),
  }
}

/** What mount(8) and ip(8) keep in a /run from their first use on; here it is that of the tests. */
const TOOLS_KEEP = ['mount', 'netns']
/** What a kubelet sets for the whole machine. */
const SETTINGS = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops']
/** What the programs make where they are not told otherwise. */
const FOLDERS = [
  '/etc/cni',
  '/etc/containerd',
  '/etc/kubernetes',
  '/lib/modules',
  '/opt/cni',
  '/opt/containerd',
  '/usr/libexec/kubernetes',
  '/var/lib/cni',
  '/var/lib/containerd',
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
]

function commandLineOf(entry: string): readonly string[] {
  if (!/^\d+$/.test(entry)) return []
  try {
    const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return words === '' ? [] : [words]
  } catch {
    return []
  }
}

function linesOf(command: string, args: readonly string[]): readonly string[] {
  return execFileSync(command, [...args], { encoding: 'utf8' })
    .split('\n')
    .toSorted()
}
