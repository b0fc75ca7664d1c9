import {
  type ChildProcess,
  execFile,
  type StdioOptions,
  spawn,
  spawnSync,
} from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { NodeProxyError } from '../lib/error.ts'
import { initScript } from './init-script.ts'
import { findInstallation } from './installation.ts'
import type { Kernel, KernelOutcome, KernelRun, Share } from './kernel-run.ts'
import { findMemoryFolder, makeScratch, SHELL_SOCKET } from './scratch.ts'

/** How many of the last characters of the console are kept. */
const KEPT = 64 * 1024
const PANIC = /^Kernel panic - not syncing: .*$/m

/**
 * The script of `Guard`. Reads a word, or nothing if the writer has ended. Unless the word is `gone`, kills the process
 * group `$1`. Then removes the folder `$2`.
 */
const SCRIPT = 'read -r word; [ "$word" = gone ] || kill -s KILL -- "-$1"; rm -rf -- "$2"'

/** How many of the last lines of the console an error shows. */
const SHOWN = 40
/** Milliseconds for a kernel that panicked to print its stack and end by itself. */
const PANIC_OUTPUT_MS = 2000

/** The default memory of a kernel in MiB. */
const MEMORY = 1024

/** Runs a command in its own kernel; returns how the command ended. Rejects like `startKernel` and `Kernel.ended`. */
export async function bootKernel(run: KernelRun): Promise<KernelOutcome> {
  const kernel = await startKernel(run)
  return kernel.ended
}

/**
 * Starts a kernel that runs the command. Throws NP_UML_MISSING if User-mode Linux, or the compiler that it needs on a
 * processor with AMX, is not installed, and NP_UML_MEMORY if there is not enough memory.
 */
export async function startKernel(run: KernelRun): Promise<Kernel> {
  const { memory = MEMORY } = run
  const { program, release, modules } = await findInstallation()
  const folder = await findMemoryFolder(memory)
  const terminal = run.terminal === true ? rememberTerminal() : undefined
  const scratch = await makeScratch()
  const registers = await withWholeRegisters(scratch).catch(async (error: unknown) => {
    await rm(scratch, { recursive: true })
    throw error
  })
  const init = join(scratch, 'init')
  const seen = { ...run, share: [...ownFolder(), ...(run.share ?? [])] }
  const text = initScript({ run: seen, release, modules, size: terminal?.size ?? '' })
  await writeFile(init, text, { mode: 0o755 })
  const pinned = ['--cpu-list', String(processorFor(run.turn ?? process.pid)), program]
  const network = run.tap === undefined ? [] : [`vec0:transport=tap,ifname=${run.tap}`]
  const booting = [...bootArguments(memory, scratch, init), ...network]
  const child = spawn('taskset', [...pinned, ...booting], {
    stdio: stdio(terminal !== undefined),
    env: { PATH: process.env['PATH'], TMPDIR: folder, ...registers },
    detached: true,
  })
  const kernel = new RunningKernel(child, run, scratch)
  const socket =
    run.shell === true ? openShellSocket(join(scratch, SHELL_SOCKET), lineOf(child, 5)) : undefined
  const stopFollowing = terminal?.follow((size) => lineOf(child, 4).write(`${size}\n`))
  const ended = kernel.ended.finally(() => {
    socket?.close()
    stopFollowing?.()
    terminal?.restore()
  })
  ended.catch(() => undefined)
  return { pid: kernel.pid, channel: kernel.channel, kill: () => kernel.kill(), ended }
}

/** Shares the folder of this project if it is below /tmp or /run, where the kernel mounts file systems of its own. */
function ownFolder(): readonly Share[] {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  return /^\/(tmp|run)\//.test(folder) ? [{ host: folder, inside: folder }] : []
}

function bootArguments(memory: number, scratch: string, init: string): readonly string[] {
  return [
    `mem=${memory}M`,
    'rootfstype=hostfs',
    'rootflags=/',
    'ro',
    `init=${init}`,
    'con=null',
    'con0=fd:0,fd:1',
    'ssl0=fd:3,fd:3',
    'ssl1=fd:4,fd:4',
    'ssl2=fd:5,fd:5',
    'quiet',
    'loglevel=3',
    'noreboot',
    `uml_dir=${scratch}/`,
  ]
}

/** The streams of the kernel's process: 0 and 1 console, 2 its own errors, 3 channel, 4 report, 5 shell. */
function stdio(terminal: boolean): StdioOptions {
  const output = terminal ? 'inherit' : 'pipe'
  return [terminal ? 'inherit' : 'ignore', output, 'pipe', 'pipe', 'pipe', 'pipe']
}

/**
 * Serves one client at a time on the Unix socket at `path`, and connects it with `line`, whose other end is a shell in
 * the kernel.
 */
function openShellSocket(path: string, line: Socket): Server {
  const server = createServer((client) => {
    client.on('error', () => undefined)
    client.on('data', (typed) => line.write(typed))
    const show = (text: Buffer): void => void client.write(text)
    const leave = (): void => void client.destroy()
    line.on('data', show).once('close', leave)
    client.once('close', () => line.off('data', show).off('close', leave))
  })
  server.maxConnections = 1
  server.once('close', () => rmSync(path, { force: true }))
  // Output is also read, and discarded, while there is no client: unread output would block the line.
  line.on('error', () => undefined).resume()
  return server.listen(path)
}

/** The terminal of this process, with its settings from before a kernel took it. */
interface RememberedTerminal {
  /** `rows columns`, as `stty size` prints it. */
  readonly size: string
  /** Reports the size whenever it changes, until the returned function is called. */
  follow(onSize: (size: string) => void): () => void
  restore(): void
}

function rememberTerminal(): RememberedTerminal {
  const settings = stty('-g')
  return {
    size: stty('size'),
    follow(onSize) {
      const { stdout } = process
      const reportSize = (): void => onSize(`${stdout.rows} ${stdout.columns}`)
      stdout.on('resize', reportSize)
      return () => stdout.off('resize', reportSize)
    },
    restore: () => void stty(settings),
  }
}

function stty(argument: string): string {
  const { stdout } = spawnSync('stty', [argument], { stdio: ['inherit', 'pipe', 'ignore'] })
  return stdout.toString().trim()
}

/** The stream with this number of a kernel's process. */
function lineOf(child: ChildProcess, stream: number): Socket {
  return (child.stdio as readonly unknown[])[stream] as Socket
}

/** Watches the process of a kernel until it has ended, and removes what it leaves behind. */
class RunningKernel implements Kernel {
  readonly pid: number
  readonly channel: Socket
  readonly ended: Promise<KernelOutcome>
  readonly #child: ChildProcess
  readonly #run: KernelRun
  readonly #console = new ConsoleText()
  readonly #watchdog: Watchdog
  #received = 0
  #status: number | undefined
  #reason: string | undefined

  /** `child` leads a process group of its own; its streams are those of `stdio`. */
  constructor(child: ChildProcess, run: KernelRun, scratch: string) {
    this.#child = child
    this.#run = run
    this.pid = child.pid ?? 0
    const guard = new Guard(this.pid, scratch)
    this.channel = lineOf(child, 3)
    this.channel.on('error', () => undefined)
    this.#watchdog = new Watchdog(run, (code) => this.#limitReached(code))
    const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null)
    for (const stream of outputs)
      stream.setEncoding('utf8').on('data', (text: string) => this.#onConsole(text))
    const report = lineOf(child, 4)
    report.on('error', () => undefined)
    report.on('data', (line: Buffer) => this.#report(line.toString()))
    this.ended = this.#outcome(guard)
    this.ended.catch(() => undefined)
  }

  kill(): void {
    this.#end('NP_UML_ENDED')
  }

  #onConsole(text: string): void {
    this.#watchdog.reset()
    const plain = this.#console.add(text)
    this.#run.onOutput?.(plain)
    if (this.#console.panic !== undefined && this.#reason === undefined) {
      this.#reason = 'NP_UML_PANIC'
      setTimeout(() => this.#end('NP_UML_PANIC'), PANIC_OUTPUT_MS).unref()
    }
  }

  /**
   * Ends the kernel. If only its console was silent, it goes on: bytes on the channel count, too. They are counted but
   * not read, because reading would take them away.
   */
  #limitReached(code: string): void {
    const { bytesRead } = this.channel
    if (code === 'NP_UML_SILENT' && bytesRead > this.#received) this.#watchdog.reset()
    else this.#end(code)
    this.#received = bytesRead
  }

  #report(line: string): void {
    const status = /^status (\d+)/m.exec(line)?.[1]
    if (status === undefined) return
    this.#status = Number(status)
    killGroup(this.#child.pid)
  }

  #end(reason: string): void {
    this.#reason ??= reason
    killGroup(this.#child.pid)
  }

  async #outcome(guard: Guard): Promise<KernelOutcome> {
    await once(this.#child, 'close').catch(() => undefined)
    this.#watchdog.stop()
    killGroup(this.#child.pid)
    await guard.dismiss()
    if (this.#status === undefined) throw this.#failure()
    return { status: this.#status, console: this.#console.text }
  }

  #failure(): NodeProxyError {
    const { command, args = [], silenceMs, timeoutMs } = this.#run
    const code = this.#reason ?? 'NP_UML_ENDED'
    const how = new Map([
      ['NP_UML_SILENT', `was silent for ${silenceMs} ms`],
      ['NP_UML_TIMEOUT', `was not done after ${timeoutMs} ms`],
      ['NP_UML_PANIC', 'panicked'],
    ])
    const what = [command, ...args].join(' ')
    const shown = this.#console.lastLines(SHOWN)
    return new NodeProxyError(
      code,
      `the kernel ${how.get(code) ?? 'ended before its command'}: ${what}\n${shown}`,
    )
  }
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL')
  } catch {
    return
  }
}

/**
 * Cleans up after a kernel, even if this process is killed: kills the kernel's process group, which would otherwise
 * live on, and removes its folder. Runs in a session of its own, which Ctrl-C does not reach.
 */
class Guard {
  readonly #child

  constructor(group: number, scratch: string) {
    this.#child = spawn('sh', ['-c', SCRIPT, 'np-uml-guard', String(group), scratch], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#child.stdin.on('error', () => undefined)
    this.#child.on('error', () => undefined)
  }

  /** Reports that the kernel has ended; resolves when its folder has been removed. */
  async dismiss(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.stdin.end('gone\n')
    await once(this.#child, 'exit')
  }
}

/**
 * The processor for a kernel. Of the n processors that this process may use, it is the one at index `turn` modulo n.
 * User-mode Linux consists of two processes that alternate at every system call, which is three times as fast on one
 * processor as on two.
 */
export function processorFor(turn: number): number {
  const usable = processorsOf(readFileSync('/proc/self/status', 'utf8'))
  return usable[turn % usable.length] ?? 0
}

/** The processors that a process may use, from the text of its /proc/PID/status, in which `0-2,8` stands for four. */
export function processorsOf(status: string): readonly number[] {
  const [, list = '0'] = /^Cpus_allowed_list:\s+(.*)$/m.exec(status) ?? []
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}

/** The end of a kernel's console output. */
export class ConsoleText {
  #text = ''

  /** Adds a chunk, and returns it without carriage returns. */
  add(chunk: string): string {
    const plain = chunk.replaceAll('\r', '')
    this.#text = (this.#text + plain).slice(-KEPT)
    return plain
  }

  get text(): string {
    return this.#text
  }

  /** The message of a kernel panic, if there was one. */
  get panic(): string | undefined {
    return PANIC.exec(this.#text)?.[0]
  }

  lastLines(count: number): string {
    return this.#text.trimEnd().split('\n').slice(-count).join('\n')
  }
}

/** Calls `onExpired` when `timeoutMs` is over, and when `reset` was not called for `silenceMs`. */
export class Watchdog {
  readonly #onExpired: (code: 'NP_UML_TIMEOUT' | 'NP_UML_SILENT') => void
  readonly #silenceMs: number | undefined
  readonly #whole: NodeJS.Timeout | undefined
  #silence: NodeJS.Timeout | undefined

  constructor(
    limits: { readonly timeoutMs?: number; readonly silenceMs?: number },
    onExpired: (code: 'NP_UML_TIMEOUT' | 'NP_UML_SILENT') => void,
  ) {
    const { timeoutMs, silenceMs } = limits
    this.#onExpired = onExpired
    this.#silenceMs = silenceMs
    if (timeoutMs !== undefined)
      this.#whole = setTimeout(() => onExpired('NP_UML_TIMEOUT'), timeoutMs)
    this.reset()
  }

  /** Starts the time of silence again. */
  reset(): void {
    if (this.#silenceMs === undefined) return
    if (this.#silence !== undefined) this.#silence.refresh()
    else this.#silence = setTimeout(() => this.#onExpired('NP_UML_SILENT'), this.#silenceMs)
  }

  stop(): void {
    clearTimeout(this.#whole)
    clearTimeout(this.#silence)
  }
}

const SOURCE = fileURLToPath(new URL('whole-registers.c', import.meta.url))
const TIMEOUT_MS = 10_000

/** Whether the processor of this /proc/cpuinfo has registers that User-mode Linux 6.1 does not keep: those of AMX. */
export function hasWideRegisters(cpuinfo: string): boolean {
  return /^flags\s*:.*\bamx_tile\b/m.test(cpuinfo)
}

/**
 * The environment variables without which User-mode Linux does not start on this processor: with AMX, one that preloads
 * a library, which is compiled into `scratch`; otherwise none. Throws NP_UML_MISSING if that fails.
 */
export async function withWholeRegisters(
  scratch: string,
  { compiler = 'tcc', cpuinfo = '/proc/cpuinfo' } = {},
): Promise<Readonly<Record<string, string>>> {
  if (!hasWideRegisters(await readFile(cpuinfo, 'utf8'))) return {}
  const library = join(scratch, 'whole-registers.so')
  const args = ['-shared', '-nostdlib', '-o', library, SOURCE]
  await promisify(execFile)(compiler, args, { timeout: TIMEOUT_MS }).catch((cause: unknown) => {
    throw new NodeProxyError(
      'NP_UML_MISSING',
      `User-mode Linux needs ${compiler} on a processor with AMX, whose registers it does not know`,
      { cause, hint: 'apt-get install tcc' },
    )
  })
  return { LD_PRELOAD: library }
}
