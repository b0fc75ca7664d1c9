import { statSync, writeSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import { NodeProxyError } from '../../lib/error.ts'
import { ENVIRONMENT, type Helper, type HelperEvents, type JobFiles, jobFiles } from './helper.ts'
import type { Job } from './program-runner.ts'

const SIGNATURES = {
  memfd_create: { arguments: ['buffer', 'u32'], return: 'i32' },
  posix_spawn: {
    arguments: ['buffer', 'buffer', 'buffer', 'buffer', 'buffer', 'buffer'],
    return: 'i32',
  },
  posix_spawn_file_actions_init: { arguments: ['buffer'], return: 'i32' },
  posix_spawn_file_actions_adddup2: { arguments: ['buffer', 'i32', 'i32'], return: 'i32' },
  posix_spawn_file_actions_addclosefrom_np: { arguments: ['buffer', 'i32'], return: 'i32' },
  posix_spawn_file_actions_addchdir_np: { arguments: ['buffer', 'buffer'], return: 'i32' },
  posix_spawn_file_actions_destroy: { arguments: ['buffer'], return: 'i32' },
  posix_spawnattr_init: { arguments: ['buffer'], return: 'i32' },
  posix_spawnattr_setflags: { arguments: ['buffer', 'i16'], return: 'i32' },
  posix_spawnattr_setsigdefault: { arguments: ['buffer', 'buffer'], return: 'i32' },
  posix_spawnattr_setsigmask: { arguments: ['buffer', 'buffer'], return: 'i32' },
  sigemptyset: { arguments: ['buffer'], return: 'i32' },
  sigfillset: { arguments: ['buffer'], return: 'i32' },
  waitpid: { arguments: ['i32', 'buffer', 'i32'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
} as const

/** spawn.h: signals as a new process has them, and a session of its own. */
const SETSIGDEF = 0x04
const SETSIGMASK = 0x08
const SETSID = 0x80
/** At least the size of each structure of spawn.h and signal.h. */
const STRUCTURE_BYTES = 512
const POINTER_BYTES = 8
/** sys/mman.h */
const MFD_CLOEXEC = 1
/** sys/wait.h */
const WNOHANG = 1
const SIGNAL_MASK = 0x7f
/** What a shell adds to the number of the signal that ended a program. */
const SIGNAL_BASE = 128
/** The exit status of a shell for a program that does not exist, and for one that it cannot start. */
const NOT_FOUND = 127
const NOT_STARTED = 126
const FIRST_OTHER_FD = 3

type Calls = NonNullable<ReturnType<typeof openCalls>>

/**
 * Starts programs by posix_spawn(3), which shares the memory of this process with the new one until that has become the
 * program: its cost does not grow with this process, as that of fork(2) does. Input and output are files in memory,
 * which need no folder and are gone with the last process that has them open. A program has its own session, so that a
 * terminal's Ctrl-C stops the daemon but not a half-written transaction.
 *
 * Undefined where this cannot be done: the C library or Node does not offer it, or this is no main thread, which alone
 * is told when a program ends (SIGCHLD).
 */
export function startPosixSpawn(events: HelperEvents): Helper | undefined {
  const calls = isMainThread ? openCalls() : undefined
  return calls === undefined ? undefined : new PosixSpawn(calls, events)
}

class PosixSpawn implements Helper {
  readonly #calls: Calls
  readonly #events: HelperEvents
  readonly #attributes: Buffer
  /** The process of each job. */
  readonly #running = new Map<number, number>()
  readonly #reap = (): void => this.#collect()

  constructor(calls: Calls, events: HelperEvents) {
    this.#calls = calls
    this.#events = events
    this.#attributes = attributesOf(calls)
  }

  openFiles(): JobFiles {
    return jobFiles(
      (which) => {
        const fd = this.#calls.memfd_create(cString(`node-proxy-${which}`), MFD_CLOEXEC)
        if (fd < 0) throw memfdFailed(getSystemErrorName(-this.#calls.errno()))
        return fd
      },
      () => undefined,
    )
  }

  start(id: number, job: Job, files: JobFiles): void {
    if (this.#running.size === 0) process.on('SIGCHLD', this.#reap)
    const started = this.#spawn(job, files)
    if (typeof started === 'number') {
      this.#running.set(id, started)
      this.#events.onReport({ id, pid: started, status: undefined })
      return
    }
    this.#unlistenIfIdle()
    writeSync(files.errors, `${job.program}: ${started.reason}\n`, 0)
    this.#events.onReport({ id, pid: 0, status: started.status })
  }

  /** Nothing to do: the timer of each job keeps the daemon alive. */
  hold(): void {}

  end(): void {}

  /** The process id, or why there is none. */
  #spawn(job: Job, files: JobFiles): number | { readonly status: number; readonly reason: string } {
    const calls = this.#calls
    const path = pathOf(job.program)
    if (path === undefined) return { status: NOT_FOUND, reason: 'not found' }
    const words = calls.list([job.program, ...job.args])
    const environment = calls.list(Object.entries(ENVIRONMENT).map(([name, is]) => `${name}=${is}`))
    const actions = Buffer.alloc(STRUCTURE_BYTES)
    calls.posix_spawn_file_actions_init(actions)
    try {
      for (const [fd, from] of [files.input, files.output, files.errors].entries()) {
        calls.posix_spawn_file_actions_adddup2(actions, from, fd)
      }
      calls.posix_spawn_file_actions_addclosefrom_np(actions, FIRST_OTHER_FD)
      calls.posix_spawn_file_actions_addchdir_np(actions, cString('/'))
      const pid = Buffer.alloc(4)
      const errno = calls.posix_spawn(
        pid,
        cString(path),
        actions,
        this.#attributes,
        words,
        environment,
      )
      if (errno === 0) return pid.readInt32LE()
      return { status: NOT_STARTED, reason: `cannot be started: ${getSystemErrorName(-errno)}` }
    } finally {
      calls.posix_spawn_file_actions_destroy(actions)
    }
  }

  /** Reports the programs that have ended. Only those of this object: Node collects its own. */
  #collect(): void {
    const wait = Buffer.alloc(4)
    for (const [id, pid] of [...this.#running]) {
      const found = this.#calls.waitpid(pid, wait, WNOHANG)
      if (found === 0) continue
      this.#running.delete(id)
      this.#unlistenIfIdle()
      if (found === pid) this.#events.onReport({ id, pid, status: statusOf(wait.readInt32LE()) })
      else this.#loseProcess(id, pid)
    }
  }

  /** Something else in this process has collected it; its number may belong to another process by now. */
  #loseProcess(id: number, pid: number): void {
    this.#events.onReport({ id, pid: 0, status: undefined })
    this.#events.onExit(`nothing is known about the end of process ${pid}`)
  }

  #unlistenIfIdle(): void {
    if (this.#running.size === 0) process.off('SIGCHLD', this.#reap)
  }
}

function openCalls() {
  try {
    const ffi = process.getBuiltinModule('node:ffi')
    const { functions } = ffi.dlopen('libc.so.6', SIGNATURES)
    const { __errno_location: errnoLocation, ...calls } = functions
    return {
      ...calls,
      errno: (): number => ffi.getInt32(errnoLocation(), 0),
      /** Texts as execve(2) takes them: the addresses of the texts, a null, and behind it the texts. */
      list(texts: readonly string[]): Buffer {
        const bytes = texts.map(cString)
        const start = (bytes.length + 1) * POINTER_BYTES
        const size = bytes.reduce((sum, { length }) => sum + length, start)
        // Outside of the heap of V8, so that it does not move.
        const memory = Buffer.from(new ArrayBuffer(size))
        const address = ffi.getRawPointer(memory)
        let at = start
        for (const [index, text] of bytes.entries()) {
          memory.writeBigUInt64LE(address + BigInt(at), index * POINTER_BYTES)
          text.copy(memory, at)
          at += text.length
        }
        return memory
      },
    }
  } catch {
    return undefined
  }
}

function attributesOf(calls: Calls): Buffer {
  const [attributes, signals] = [Buffer.alloc(STRUCTURE_BYTES), Buffer.alloc(STRUCTURE_BYTES)]
  calls.posix_spawnattr_init(attributes)
  calls.sigfillset(signals)
  calls.posix_spawnattr_setsigdefault(attributes, signals)
  calls.sigemptyset(signals)
  calls.posix_spawnattr_setsigmask(attributes, signals)
  calls.posix_spawnattr_setflags(attributes, SETSIGDEF | SETSIGMASK | SETSID)
  return attributes
}

/** A string of C, which ends with a null. */
function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`)
}

/** Looked up each time, as a shell does: programs are upgraded while the daemon runs. */
function pathOf(program: string): string | undefined {
  const paths = ENVIRONMENT.PATH.split(':').map((folder) => `${folder}/${program}`)
  return paths.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
}

/** The exit status, or 128 and the number of the signal. */
function statusOf(wait: number): number {
  const signal = wait & SIGNAL_MASK
  return signal === 0 ? (wait >> 8) & 0xff : SIGNAL_BASE + signal
}

function memfdFailed(reason: string): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_SPAWNER', `no file for an external program: ${reason}`, {
    hint: 'allow this process more memory or open files; the next program is tried anew',
  })
}
