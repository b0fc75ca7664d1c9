import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { CGROUPS, removeCgroups } from '../../support/apart/scratch.ts'
import { ip, plugIn, unplug } from './network.ts'
import { eventually, type Program, startProgram } from './programs.ts'

const BOOT = fileURLToPath(new URL('boot.sh', import.meta.url))
const BOOT_MS = 60_000
const COMMAND_MS = 60_000
/** cgroup(7): a process joins a group by writing its number. */
const JOIN =
  'groups=$1; shift; for group in $groups; do echo $$ >"$group/cgroup.procs"; done; exec "$@"'
const APART = ['--mount', '--uts', '--ipc', '--pid', '--cgroup', '--fork', '--kill-child']

export interface MachineFiles {
  readonly name: string
  /** What survives a reboot. */
  readonly disk: string
  /** The path of its control group in every hierarchy. */
  readonly cgroup: string
  /** Folders of the machine of the tests that the node has as well. */
  readonly shared: readonly string[]
}

/** A running node without any program: network, mounts, host name, processes and control groups of its own. */
export interface Machine {
  /** Runs a command line on it as root; its standard output. */
  run(line: string, timeoutMs?: number): Promise<string>
  start(log: string, command: readonly string[]): Program
  /** Kills everything on it at once, and takes it off the network. */
  powerOff(): Promise<void>
}

export async function bootMachine({ name, disk, cgroup, shared }: MachineFiles): Promise<Machine> {
  mkdirSync(disk, { recursive: true })
  const hierarchies = cgroupHierarchies()
  const groups = hierarchies.map(({ folder }) => makeGroup(folder, cgroup)).join(' ')
  await plugIn(name)
  const joined = ['sh', '-euc', JOIN, 'sh', groups]
  const apart = ['nsenter', `--net=/run/netns/${name}`, 'unshare', ...APART]
  const boot = ['bash', BOOT, name, disk, shared.join('\n')]
  const first = startProgram(join(disk, 'boot.log'), [
    ...joined,
    ...apart,
    ...boot,
    ...hierarchies.map(({ folder, options }) => `${options}:${basename(folder)}`),
  ])
  const init = await eventually(
    `${name} boots`,
    async () => {
      if (!first.isRunning()) throw new Error('it has ended')
      if (!first.tail().endsWith('booted\n')) return undefined
      return readFileSync(`/proc/${first.pid}/task/${first.pid}/children`, 'utf8').trim()
    },
    { timeoutMs: BOOT_MS, why: () => first.tail() },
  )
  const inside = [...joined, 'nsenter', `--target=${init}`, '--all', '--']
  /** The ends of all that was started on it: each has a process of its control group outside of its namespaces. */
  const ends = new Set<Promise<unknown>>([first.ended])
  const follow = (end: Promise<unknown>): void => {
    ends.add(end)
    void end.finally(() => ends.delete(end)).catch(() => undefined)
  }
  return {
    async run(line, timeoutMs = COMMAND_MS) {
      const [program, ...args] = [...inside, 'sh', '-euc', line]
      const running = execa(program, args, { stdin: 'ignore', timeout: timeoutMs })
      follow(running)
      return (await running).stdout
    },
    start(log, command) {
      const program = startProgram(log, [...inside, ...command])
      follow(program.ended)
      return program
    },
    async powerOff() {
      // Its processes do not end at once: networks of Pods whose servers are dead would refuse connections meanwhile.
      await ip('', [`link set ${name} down`])
      // Its death is complete when every process of its namespace is gone.
      process.kill(Number(init), 'SIGKILL')
      await Promise.allSettled(ends)
      await unplug(name)
      rmSync(join(disk, 'boot.log'))
      removeCgroups(cgroup)
    },
  }
}

interface Hierarchy {
  readonly folder: string
  /** What mounts it: its controllers. */
  readonly options: string
}

/** The hierarchies of version 1, which kubelet 1.20 and its containers use. Throws where there are none. */
function cgroupHierarchies(): readonly Hierarchy[] {
  const lines = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const found = lines
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup')
    .map(([, folder = '', , options = '']) => ({ folder, options: controllersIn(options) }))
  if (found.some(({ options }) => options.split(',').includes('memory'))) return found
  throw new Error(`${CGROUPS} has no hierarchy "memory" of cgroup version 1, which kubelet 1.20 needs:
boot with systemd.unified_cgroup_hierarchy=0`)
}

function controllersIn(options: string): string {
  const others = /^(?:rw|ro|\w*atime|nosuid|nodev|noexec|xattr|clone_children|release_agent=.*)$/
  return options
    .split(',')
    .filter((option) => !others.test(option))
    .join()
}

/** A group that processes can join: in the hierarchy cpuset that takes processors and memory. */
function makeGroup(hierarchy: string, path: string): string {
  let folder = hierarchy
  for (const part of path.split('/')) {
    const parent = folder
    folder = join(folder, part)
    mkdirSync(folder, { recursive: true })
    if (!hierarchy.includes('cpuset')) continue
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      writeFileSync(join(folder, file), readFileSync(join(parent, file), 'utf8'))
    }
  }
  return folder
}
