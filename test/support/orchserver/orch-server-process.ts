import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../../src/client/connection/connection.ts'
import { loadKubeconfig } from '../../../src/client/connection/kubeconfig.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { launcherOf } from '../programs.ts'
import { tieToUs } from '../tie-to-us.ts'

const PROGRAM = launcherOf('orch-server')

export interface OrchServerOptions {
  /**
   * Flags beside those for the data directory and the port. With `--etcd-servers=http://127.0.0.1:2379`, all servers
   * have the same encryption keys, unless these flags name others.
   */
  readonly flags?: readonly string[]
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Receives everything that the server writes to standard output and standard error; by default, errors are shown. */
  readonly onOutput?: (bytes: Buffer) => void
  /** Called before the first start, to put files into the data directory, which does not exist yet. */
  readonly prepare?: (dataDir: string) => Promise<void>
}

/** A real orch-server on loopback, with data of its own that survive its end. */
export interface OrchServerProcess extends AsyncDisposable {
  readonly url: string
  /** Path of the kubeconfig that it wrote. */
  readonly kubeconfig: string
  readonly dataDir: string
  /** The connection of its kubeconfig, for clients of this project. */
  readonly connection: Connection
  /** Undefined while it does not run. */
  readonly pid: number | undefined
  /** Sends SIGKILL. Resolves when the server has ended. */
  kill(): Promise<void>
  /** Sends SIGTERM. Resolves to the exit code. */
  stop(): Promise<number | null>
  /** Resolves to the exit code when it has ended by itself. */
  ended(): Promise<number | null>
  /** Starts it again at the same address; resolves when it reports that it is ready. */
  start(): Promise<void>
  /** Starts it again, and kills it this many milliseconds after the process was created. */
  startInVain(milliseconds: number): Promise<void>
}

/** Resolves once it is ready. */
export async function startOrchServer({
  flags = [],
  env = {},
  onOutput,
  prepare,
}: OrchServerOptions = {}): Promise<OrchServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'np-orch-server-'))
  const dataDir = join(folder, 'data')
  const keyFile = join(folder, 'keys')
  await writeFile(keyFile, SHARED_KEYS, { mode: 0o600 })
  await prepare?.(dataDir)
  const keyFlags = flags.some(isOfEtcd) ? [`--encryption-key-file=${keyFile}`] : []
  const args = (port: string) => [
    `--data-dir=${dataDir}`,
    `--secure-port=${port}`,
    ...keyFlags,
    ...flags,
  ]
  const spawned = (port: string): Promise<Running> => spawnServer(args(port), env, onOutput)
  let running = await spawned('0')
  const { url, kubeconfig } = running
  const ended = async (): Promise<number | null> => {
    const { child } = running
    // Its output is complete when its streams are closed.
    if (!isGone(child)) await once(child, onOutput === undefined ? 'exit' : 'close')
    return child.exitCode
  }
  const end = (signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> => {
    running.child.kill(signal)
    return ended()
  }
  return {
    url,
    kubeconfig,
    dataDir,
    connection: await loadKubeconfig({ path: kubeconfig, master: undefined, clock: systemClock }),
    get pid() {
      return isGone(running.child) ? undefined : running.child.pid
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    ended,
    start: async () => {
      running = await spawned(new URL(url).port)
    },
    startInVain: (milliseconds) => spawnAndKill(args(new URL(url).port), env, milliseconds),
    [Symbol.asyncDispose]: async () => {
      await end('SIGKILL')
      await rm(folder, { recursive: true })
    },
  }
}

const SHARED_KEYS = `shared:${createHash('sha256').update('shared').digest('base64')}\n`

function isOfEtcd(flag: string): boolean {
  return flag.startsWith('--etcd-servers=')
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
  readonly kubeconfig: string
}

interface ReadyRecord {
  readonly msg?: string
  readonly url: string
  readonly kubeconfig: string
}

/** @throws Error with its whole output if it ends before it is ready */
async function spawnServer(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  onOutput?: (bytes: Buffer) => void,
): Promise<Running> {
  const child = spawn(PROGRAM, args, {
    stdio: ['ignore', 'pipe', onOutput === undefined ? 'inherit' : 'pipe'],
    env: { ...process.env, ...env },
  })
  tieToUs(child)
  if (onOutput !== undefined) {
    child.stdout!.on('data', onOutput)
    child.stderr!.on('data', onOutput)
  }
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    said.push(line)
    const record = JSON.parse(line) as ReadyRecord
    if (record.msg !== 'orch-server is ready') continue
    child.stdout!.resume()
    return { child, url: record.url, kubeconfig: record.kubeconfig }
  }
  throw new Error(`the server ended before it was ready:\n${said.join('\n')}`)
}

async function spawnAndKill(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  milliseconds: number,
): Promise<void> {
  const child = spawn(PROGRAM, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  tieToUs(child)
  const gone = once(child, 'exit')
  await once(child, 'spawn')
  await delay(milliseconds)
  child.kill('SIGKILL')
  await gone
}

function isGone(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
