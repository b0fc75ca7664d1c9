import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { tieToUs } from '../tie-to-us.ts'
import { freeAddress } from './free-address.ts'

export interface EtcdProcessOptions {
  /** Further arguments, for example `--experimental-watch-progress-notify-interval=100ms`. */
  readonly args?: readonly string[]
  /** PEM files for the client side; clients need a certificate of the same authority. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string }
  /** Its member of a cluster. Default: it is the only one. */
  readonly member?: EtcdMember
}

export interface EtcdMember {
  readonly name: string
  /** The URL at which the other members reach it. */
  readonly peer: string
  /** All members, as in `a=http://127.0.0.1:1,b=http://127.0.0.1:2`. */
  readonly cluster: string
}

/** A real etcd on loopback, with data of its own that survive its end. */
export interface EtcdProcess extends AsyncDisposable {
  readonly endpoint: string
  /** Kills it with SIGKILL, like a crash of the machine. */
  kill(): Promise<void>
  /** Starts it again on the same ports and data. */
  start(): Promise<void>
  /** Suspends it: connections stay, nothing is answered. Resolves when every thread has stopped. */
  freeze(): Promise<void>
  thaw(): void
  /** Copies its data, as they are at one moment, to a new folder; suspends it meanwhile. */
  backUp(folder: string): Promise<void>
  /** Starts it again with the copied data; everything since then is lost. */
  restore(folder: string): Promise<void>
}

export async function startEtcd(options: EtcdProcessOptions = {}): Promise<EtcdProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'np-etcd-'))
  const endpoint = await freeAddress(options.tls === undefined ? 'http' : 'https')
  const member = options.member ?? (await loneMember())
  const args = [...addresses(folder, endpoint, member), ...argsOf(options)]
  let child = await spawnEtcd(args)
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  const freeze = async (): Promise<void> => {
    child.kill('SIGSTOP')
    while (!hasStopped(child.pid!)) await setImmediate()
  }
  const thaw = (): void => void child.kill('SIGCONT')
  return {
    endpoint,
    kill,
    freeze,
    thaw,
    start: async () => {
      child = await spawnEtcd(args)
    },
    backUp: async (copy) => {
      await freeze()
      await cp(folder, copy, { recursive: true })
      thaw()
    },
    restore: async (copy) => {
      await kill()
      await rm(folder, { recursive: true })
      await cp(copy, folder, { recursive: true })
      child = await spawnEtcd(args)
    },
    [Symbol.asyncDispose]: async () => {
      await kill()
      await rm(folder, { recursive: true })
    },
  }
}

async function loneMember(): Promise<EtcdMember> {
  const [name, peer] = ['test', await freeAddress('http')]
  return { name, peer, cluster: `${name}=${peer}` }
}

function addresses(
  folder: string,
  client: string,
  { name, peer, cluster }: EtcdMember,
): readonly string[] {
  return [
    `--data-dir=${folder}`,
    `--name=${name}`,
    // On every loopback address, so that a client can use one that no certificate names.
    `--listen-client-urls=${client},${client.replace('127.0.0.1', '127.0.0.2')}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${cluster}`,
    '--logger=zap',
    '--heartbeat-interval=20',
    '--election-timeout=200',
  ]
}

function argsOf({ args = [], tls }: EtcdProcessOptions): readonly string[] {
  if (tls === undefined) return args
  return [
    ...args,
    '--client-cert-auth',
    `--trusted-ca-file=${tls.ca}`,
    `--cert-file=${tls.cert}`,
    `--key-file=${tls.key}`,
  ]
}

/** Resolves when it serves clients; rejects with its last output if it ends before. */
async function spawnEtcd(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('etcd', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const words: string[] = []
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess>()
  createInterface(child.stderr).on('line', (line) => {
    words.push(line)
    if (words.length > 20) words.shift()
    if (/serving (insecure )?client (requests|traffic)/.test(line)) resolve(child)
  })
  child.once('error', reject)
  child.once('exit', () => reject(new Error(`etcd ended:\n${words.join('\n')}`)))
  tieToUs(child)
  return promise
}

/** Whether every thread of a process is stopped (T in proc(5)); a signal takes a moment to reach all of them. */
function hasStopped(pid: number): boolean {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const stats = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8'))
  return stats.every((stat) => stat.slice(stat.lastIndexOf(')') + 2).startsWith('T'))
}
