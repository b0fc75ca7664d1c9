import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { NodeProxyError } from '../lib/error.ts'
import { ConsoleText } from './console-text.ts'
import { Guard } from './guard.ts'
import type { Kernel, KernelOutcome, KernelRun } from './kernel-run.ts'
import { Watchdog } from './watchdog.ts'

/** Lines of the console that an error shows. */
const SHOWN = 40
/** A kernel that panicked prints its stack, and ends by itself. */
const LAST_WORDS_MS = 2000

/** One of the lines to a kernel, by the number of its stream. */
export function lineOf(child: ChildProcess, stream: number): Socket {
  return (child.stdio as readonly unknown[])[stream] as Socket
}

/** Watches the process that is a kernel until it has ended, and removes what it leaves. */
export class RunningKernel implements Kernel {
  readonly channel: Socket
  readonly ended: Promise<KernelOutcome>
  readonly #child: ChildProcess
  readonly #run: KernelRun
  readonly #console = new ConsoleText()
  readonly #watchdog: Watchdog
  #received = 0
  #status: number | undefined
  #reason: string | undefined

  /** `child` leads a process group of its own; its fourth stream is the channel, its fifth the report. */
  constructor(child: ChildProcess, run: KernelRun, scratch: string) {
    this.#child = child
    this.#run = run
    const guard = new Guard(child.pid ?? 0, scratch)
    this.channel = lineOf(child, 3)
    this.channel.on('error', () => undefined)
    this.#watchdog = new Watchdog(run, (code) => this.#bark(code))
    const hears = [child.stdout, child.stderr].filter((stream) => stream !== null)
    for (const stream of hears)
      stream.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    const report = lineOf(child, 4)
    report.on('data', (line: Buffer) => this.#report(line.toString()))
    this.ended = this.#outcome(guard)
    this.ended.catch(() => undefined)
  }

  kill(): void {
    this.#end('NP_UML_ENDED')
  }

  #hear(text: string): void {
    this.#watchdog.heard()
    const plain = this.#console.add(text)
    this.#run.onOutput?.(plain)
    if (this.#console.panic !== undefined && this.#reason === undefined) {
      this.#reason = 'NP_UML_PANIC'
      setTimeout(() => this.#end('NP_UML_PANIC'), LAST_WORDS_MS).unref()
    }
  }

  /** The channel is not listened to here, because listening would take its bytes away. */
  #bark(code: string): void {
    const { bytesRead } = this.channel
    if (code === 'NP_UML_SILENT' && bytesRead > this.#received) this.#watchdog.heard()
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
