import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cgroupOf } from '../../support/apart/scratch.ts'
import { upstreamProgram } from '../../support/lab/upstream-program.ts'
import { root } from '../../support/on-demand/root.ts'
import { ARCHIVES } from '../images/images.ts'
import { bootMachine } from './machine.ts'
import { containerdConfig } from './node.ts'
import type { ClusterFiles } from './surroundings.ts'

const COMMAND_MS = 300_000
const TAIL = 4_000
const LOGIN_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const SHELL_PROGRAMS = ['systemctl', 'scp'] as const

/**
 * A machine as an administrator has it before the first command of a page: programs are installed, none of the project's
 * runs. Instead of systemd, `systemctl` starts what a unit says; `scp` reaches the other machines.
 */
export interface AdministeredMachine {
  /** Runs a script of bash as root. @returns its standard output @throws Error with all output, unless it ends with 0 */
  run(script: string): Promise<string>
  /** The ends of the logs of its units. */
  logs(): string
}

/** Flags of a unit beside those of its file, and a command that succeeds once it serves. */
export interface UnitExtras {
  readonly flags?: string
  readonly ready?: string
}

/** Machines that copy files to each other, by their names. Runs in namespaces of the tests' own, on an open network. */
export async function administeredMachines<const N extends string>(
  files: ClusterFiles,
  names: readonly N[],
  units: Readonly<Record<string, UnitExtras>>,
): Promise<AsyncDisposable & { readonly of: Readonly<Record<N, AdministeredMachine>> }> {
  await using starting = new AsyncDisposableStack()
  const exchange = join(files.scratch, 'exchange')
  mkdirSync(exchange)
  starting.defer(() => rmSync(exchange, { recursive: true }))
  const started: Record<string, AdministeredMachine> = {}
  const deliver = async (): Promise<void> => {
    for (const box of globSync(join(exchange, 'scp.*')).toSorted()) {
      const [host = '', path] = readFileSync(join(box, 'to'), 'utf8').trim().split(':')
      rmSync(join(box, 'to'))
      await started[host]!.run(`cp ${box}/* ${path}`)
      rmSync(box, { recursive: true })
    }
  }
  const of: Record<string, AdministeredMachine> = {}
  for (const name of names) {
    const machine = starting.use(await startMachine(name, { files, exchange, units }))
    started[name] = machine
    of[name] = {
      async run(script) {
        const said = await machine.run(script)
        await deliver()
        return said
      },
      logs: machine.logs,
    }
  }
  const running = starting.move()
  return {
    of: of as Record<N, AdministeredMachine>,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

interface Surroundings {
  readonly files: ClusterFiles
  /** The folder of what `scp` copies. */
  readonly exchange: string
  readonly units: Readonly<Record<string, UnitExtras>>
}

async function startMachine(
  name: string,
  { files, exchange, units }: Surroundings,
): Promise<AdministeredMachine & AsyncDisposable> {
  const { scratch, programs, images } = files
  const disk = join(scratch, name)
  const own = join(disk, 'var/lib/units')
  mkdirSync(own, { recursive: true })
  for (const [unit, { flags = '', ready = 'true' }] of Object.entries(units)) {
    writeFileSync(join(own, `${unit}.flags`), flags)
    writeFileSync(join(own, `${unit}.ready`), ready)
  }
  for (const program of SHELL_PROGRAMS) {
    const text = readFileSync(fileURLToPath(new URL(`${program}.sh`, import.meta.url)), 'utf8')
    const mode = 0o755
    writeFileSync(join(own, program), text.replaceAll('EXCHANGE', exchange), { mode })
  }
  writeFileSync(join(own, 'containerd.toml'), containerdConfig())
  const shared = [programs, images, exchange]
  const cgroup = `${cgroupOf(scratch)}/${name}`
  const machine = await bootMachine({ name, disk, cgroup, shared })
  const run = (script: string): Promise<string> => {
    writeFileSync(join(own, 'script'), `PATH=${LOGIN_PATH} HOME=/root\ncd\n${script}`)
    return machine.run('bash --norc -euo pipefail /var/lib/units/script', COMMAND_MS)
  }
  await run(`
mkdir /opt/node-proxy-0.1.0
mount --bind ${root} /opt/node-proxy-0.1.0
mount -o remount,bind,ro /opt/node-proxy-0.1.0
ln -s node-proxy-0.1.0 /opt/node-proxy
ln -s /var/lib/units/systemctl /var/lib/units/scp ${upstreamProgram('kubelet')} /usr/local/bin
ln -s ${join(images, ARCHIVES.daemon)} /root/node-proxy.tar
cp /var/lib/units/containerd.toml /etc/containerd/config.toml
echo 'KUBELET_EXTRA_ARGS="${KUBELET_EXTRA_ARGS}"' > /etc/default/kubelet`)
  return {
    run,
    logs: () =>
      globSync(join(disk, 'var/log/units/*.log'))
        .map((log) => `${name} ${basename(log)}\n${readFileSync(log, 'utf8').slice(-TAIL)}`)
        .join('\n'),
    [Symbol.asyncDispose]: () => machine.powerOff(),
  }
}

/** The disk is the machine's, and no image could be pulled again. */
const KUBELET_EXTRA_ARGS = [
  '--eviction-hard=memory.available<1Mi',
  '--image-gc-high-threshold=100',
  '--image-gc-low-threshold=99',
  '--node-status-update-frequency=4s',
  '--oom-score-adj=0',
  '--v=2',
].join(' ')
