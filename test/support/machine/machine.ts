import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newestKubectl } from '../kubectl/installed.ts'
import { root } from '../on-demand/root.ts'
import { tieToUs } from '../tie-to-us.ts'
import { makeCgroup, removeCgroup } from './cgroup.ts'

const BOOT = fileURLToPath(new URL('boot.sh', import.meta.url))
const SYSTEMD = '/usr/lib/systemd/systemd'
const APART = ['--mount', '--net', '--pid', '--cgroup', '--uts', '--ipc']
/** The PATH of a login shell, followed by folders of this machine, such as that of npm. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const BOOT_MS = 200_000
const COMMAND_MS = 250_000

/**
 * A machine for an administrator, with systemd, and a network and files of its own; the checkout is at /run/checkout.
 */
export interface Machine extends AsyncDisposable {
  /** Runs a script as root. @returns its standard output @throws Error with all output, unless the exit status is 0 */
  sh(script: string, input?: string): Promise<string>
}

/** Whether machines can be made. They need Debian's package systemd, which containers mostly do not have. */
export function hasSystemd(): boolean {
  const has = existsSync(SYSTEMD)
  if (!has && process.env['CI'] === 'true') throw new Error(`no ${SYSTEMD}: install systemd`)
  return has
}

/** The first process of a machine: a script of sh that ends with `exec …/systemd`. */
export interface FirstProcess {
  readonly script: string
  readonly args: readonly string[]
  /** How long a script of `sh` may take, in milliseconds. */
  readonly commandMs?: number
}

/** Starts a machine, with the files of this one unless `first` gives it others; resolves when systemd answers. */
export async function startMachine(
  first: FirstProcess = { script: BOOT, args: [root, newestKubectl()] },
): Promise<Machine> {
  const group = makeCgroup()
  const enter = 'echo $$ >"$0/cgroup.procs" && exec unshare "$@"'
  const script = ['sh', first.script, ...first.args]
  const words = [...APART, '--fork', '--kill-child', '--mount-proc', ...script]
  const child = spawn('sh', ['-c', enter, group, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  tieToUs(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => void (said += bytes.toString()))
  }
  const gone = once(child, 'close')
  const end = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
    await removeCgroup(group)
  }
  const sh = (script: string, input = ''): Promise<string> =>
    inside(firstProcess(child), ['bash', '--norc', '-euo', 'pipefail', '-c', script], {
      input,
      timeout: first.commandMs ?? COMMAND_MS,
    })
  try {
    await untilServing(child, sh)
  } catch (error) {
    await end()
    throw new Error(`no machine: ${said}`, { cause: error })
  }
  return { sh, [Symbol.asyncDispose]: end }
}

/** Polls, because systemd cannot notify when it is ready to answer. */
async function untilServing(child: ChildProcess, sh: Machine['sh']): Promise<void> {
  const end = Date.now() + BOOT_MS
  for (;;) {
    try {
      await sh('systemctl is-active basic.target')
      return
    } catch (error) {
      if (Date.now() > end || child.exitCode !== null) throw error
      await delay(50)
    }
  }
}

/** The process id of systemd, which is the child of `unshare`. */
function firstProcess({ pid }: ChildProcess): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
}

function inside(
  pid: string,
  words: readonly string[],
  { input, timeout }: { readonly input: string; readonly timeout: number },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const env = {
    PATH: `${PATH}:${process.env['PATH']}`,
    HOME: '/root',
    USER: 'root',
    LANG: 'C.UTF-8',
  }
  const child = execFile(
    'nsenter',
    ['--target', pid, '--all', '--wd=/root', ...words],
    { env, timeout },
    (failure, out, err) =>
      failure === null ? resolve(out) : reject(new Error(`${out}${err}`, { cause: failure })),
  )
  // It is not an error if the script ends without reading its input.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input)
  return promise
}
