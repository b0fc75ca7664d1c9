import { spawn } from 'node:child_process'
import { closeSync, constants as fileConstants, openSync } from 'node:fs'
import { constants } from 'node:os'
import { PassThrough } from 'node:stream'
import { ReadStream } from 'node:tty'
import {
  type RunningCommand,
  StreamRefusal,
  type TerminalSize,
} from '../../streams/node-streams.ts'
import { killGroup, killProcess } from '../system/run-command.ts'
import { type ProcessPlan, prepareProcess } from './container-process.ts'

type AttachedPlan = Omit<ProcessPlan, 'log'>

/** The exit code of a shell for a process that a signal ended is this plus the number of the signal. */
const SIGNALLED = 128

/** Starts a command whose input and outputs are streams. */
export async function startAttached(plan: AttachedPlan): Promise<RunningCommand | StreamRefusal> {
  const prepared = await prepareProcess({ ...plan, log: undefined })
  if (typeof prepared === 'string') return new StreamRefusal('failed', prepared)
  const { words, options } = prepared
  const child = spawn(words[0]!, words.slice(1), {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = endOf(child)
  const { pid } = child
  // Without a process there may be no streams either.
  if (pid === undefined) return new StreamRefusal('failed', await failureOf(child))
  const { stdin, stdout, stderr } = child
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => undefined)
  return {
    stdin,
    stdout,
    stderr,
    ended,
    resize: () => undefined,
    kill: () => {
      killGroup(pid)
      for (const stream of [stdin, stdout, stderr]) stream.destroy()
    },
  }
}

/**
 * Starts a command in a terminal. `setsid`: the path of the program that makes the terminal the controlling one
 * of the process.
 */
export async function startInTerminal(
  plan: AttachedPlan,
  setsid: string,
): Promise<RunningCommand | StreamRefusal> {
  const command = [setsid, '--ctty', '--', ...plan.command]
  const shownProgram = plan.shownProgram ?? plan.command[0]
  const prepared = await prepareProcess({ ...plan, log: undefined })
  if (typeof prepared === 'string') return new StreamRefusal('failed', prepared)
  const within = await prepareProcess({ ...plan, command, shownProgram, log: undefined })
  if (typeof within === 'string') return new StreamRefusal('failed', within)
  const terminal = openPseudoTerminal()
  if (terminal === undefined) {
    return new StreamRefusal('failed', 'this machine provides no terminal: run it without tty')
  }
  const { processEnd, stream } = terminal
  const child = spawn(within.words[0]!, within.words.slice(1), {
    ...within.options,
    stdio: [processEnd, processEnd, processEnd],
  })
  const output = new PassThrough()
  // The kernel reports the end of the last process in a terminal as an error of reading.
  stream.on('error', () => undefined)
  stream.once('close', () => output.end())
  stream.pipe(output)
  let isOpen = true
  const ended = endOf(child).finally(() => {
    isOpen = false
    closeSync(processEnd)
  })
  const { pid } = child
  if (pid === undefined) {
    stream.destroy()
    return new StreamRefusal('failed', await failureOf(child))
  }
  return {
    stdin: stream,
    stdout: output,
    stderr: undefined,
    ended,
    resize: (size) => {
      if (isOpen) terminal.resize(size)
    },
    kill: () => {
      killGroup(pid)
      killProcess(pid)
      stream.destroy()
    },
  }
}

type Child = Pick<ReturnType<typeof spawn>, 'once'>

function endOf(child: Child): RunningCommand['ended'] {
  return new Promise((resolve) => {
    child.once('error', () => resolve({ exitCode: SIGNALLED - 1 }))
    child.once('exit', (code, signal) => {
      const number = signal === null ? 0 : constants.signals[signal]
      resolve({ exitCode: signal === null ? (code ?? 0) : SIGNALLED + number })
    })
  })
}

function failureOf(child: Child): Promise<string> {
  return new Promise((resolve) => child.once('error', ({ message }) => resolve(message)))
}

/** A pseudo-terminal, one end of which belongs to a process. */
interface PseudoTerminal {
  /** The file descriptor that the process reads and writes. The caller closes it when the process has ended. */
  readonly processEnd: number
  /** The other end: what the user types and sees. It ends when no process has the process end open. */
  readonly stream: ReadStream
  resize(size: TerminalSize): void
}

const SIGNATURES = {
  posix_openpt: { arguments: ['i32'], return: 'i32' },
  grantpt: { arguments: ['i32'], return: 'i32' },
  unlockpt: { arguments: ['i32'], return: 'i32' },
  ptsname_r: { arguments: ['i32', 'buffer', 'u64'], return: 'i32' },
  ioctl: { arguments: ['i32', 'u64', 'buffer'], return: 'i32' },
} as const

/** `TIOCSWINSZ` of Linux on x86-64 and arm64. */
const SET_SIZE = 0x5414
const CLOSE_ON_EXEC = 0o2000000
const NAME_BYTES = 64

/** Undefined: Node has no foreign function interface, or the machine has an unsupported C library. */
function openPseudoTerminal(): PseudoTerminal | undefined {
  const libc = openLibc()
  if (libc === undefined) return undefined
  const { O_RDWR, O_NOCTTY } = fileConstants
  const fd = libc.posix_openpt(O_RDWR | O_NOCTTY | CLOSE_ON_EXEC)
  if (fd < 0) return undefined
  const name = Buffer.alloc(NAME_BYTES)
  const isReady =
    libc.grantpt(fd) === 0 &&
    libc.unlockpt(fd) === 0 &&
    libc.ptsname_r(fd, name, BigInt(NAME_BYTES)) === 0
  if (!isReady) {
    closeSync(fd)
    return undefined
  }
  const processEnd = openSync(name.toString('latin1', 0, name.indexOf(0)), O_RDWR | O_NOCTTY)
  return {
    processEnd,
    stream: new ReadStream(fd),
    resize: ({ width, height }) => {
      const size = Buffer.alloc(8)
      size.writeUInt16LE(height, 0)
      size.writeUInt16LE(width, 2)
      libc.ioctl(processEnd, BigInt(SET_SIZE), size)
    },
  }
}

function openLibc() {
  try {
    return process.getBuiltinModule('node:ffi').dlopen('libc.so.6', SIGNATURES).functions
  } catch {
    return undefined
  }
}
