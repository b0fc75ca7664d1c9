import { connect, createServer, type Server } from 'node:net'
import { isJsonObject, parseJson, stringAt, valueAt } from '../lib/json.ts'
import { OPTION, SOCK } from './sockets/constants.ts'
import { openSyscalls, type Syscalls } from './sockets/syscalls.ts'

/**
 * What the owner of a lock reports about itself. Any process may have written it, so every text has to be quoted where
 * it is printed.
 */
export interface LockOwner {
  /** Process id in its own PID namespace. */
  readonly pid: number
  /** The PID namespace, for example `pid:[4026531836]`; empty if it cannot be read. */
  readonly pidNamespace: string
  /** When the process started, ISO 8601. */
  readonly since: string
  readonly version: string
  /** `daemon`, `--init-only` or `--cleanup`. */
  readonly task: string
  /** The proxy mode; empty if no mode is active. */
  readonly mode: string
  /** The command line. */
  readonly command: string
}

/** What the kernel reports about the process that holds a lock. */
export interface LockHolder {
  /** Process id in our PID namespace; 0 if the process is not visible here. */
  readonly pid: number
  readonly uid: number
}

/** The result of an attempt to take a lock. `held`: by this process now; `taken`: by another process. */
export type LockAttempt =
  | { readonly kind: 'held'; readonly lock: OwnerLock }
  | {
      readonly kind: 'taken'
      /** Undefined if the holder gave no answer, or its answer was not that of a node-proxy. */
      readonly owner: LockOwner | undefined
      /** Undefined if this Node has no access to SO_PEERCRED. */
      readonly holder: LockHolder | undefined
    }

/** A lock that this process holds until it releases it or ends for any reason. */
export interface OwnerLock {
  /** Idempotent; afterwards another process can take the lock at once. */
  release(): void
}

/** One lock of the network namespace. */
export interface OwnerLocks {
  /**
   * Takes the lock unless another process holds it. While this process holds the lock, the result of `owner` is the
   * answer to other processes. Rejects with Node's error if the lock can be neither taken nor found taken.
   */
  attempt(owner: () => LockOwner): Promise<LockAttempt>
}

/** The longest time for an answer, on both sides. */
const ANSWER_MS = 2_000
/** UTF-16 code units. A longer answer is not read further. */
const MAX_ANSWER_LENGTH = 16_384
/** Processes that are answered at the same time; further ones are not answered. */
const MAX_CLIENTS = 16

/**
 * Locks that are Unix sockets in the abstract namespace (unix(7)). The kernel keeps such names by network namespace,
 * gives each name to one socket, and frees it when the process ends, even after SIGKILL. No file is involved. The
 * owner answers each connection with one line about itself.
 */
export class SocketLocks implements OwnerLocks {
  readonly #name: string

  constructor(name = 'node-proxy') {
    this.#name = name
  }

  /** Tries a second time if the holder gave no answer: it may have ended in between. */
  async attempt(owner: () => LockOwner): Promise<LockAttempt> {
    const first = await this.#attemptOnce(owner)
    const hasAnswered = first.kind === 'held' || first.owner !== undefined
    return hasAnswered ? first : this.#attemptOnce(owner)
  }

  async #attemptOnce(owner: () => LockOwner): Promise<LockAttempt> {
    const server = await this.#listen(owner)
    if (server !== undefined) return { kind: 'held', lock: lockOf(server) }
    const holder = holderOf(this.#name)
    return { kind: 'taken', owner: await this.#request(), holder }
  }

  /** Undefined if the name is taken. */
  #listen(owner: () => LockOwner): Promise<Server | undefined> {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.setTimeout(ANSWER_MS, () => socket.destroy())
      socket.end(writeOwner(owner()))
    })
    server.maxConnections = MAX_CLIENTS
    return new Promise((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(undefined)
        else reject(error)
      })
      server.listen(`\0${this.#name}`, () => {
        server.on('error', () => {})
        server.unref()
        resolve(server)
      })
    })
  }

  /** Reads the answer of the holder. Undefined without a valid one. */
  #request(): Promise<LockOwner | undefined> {
    const { promise, resolve } = Promise.withResolvers<LockOwner | undefined>()
    const socket = connect(`\0${this.#name}`)
    let text = ''
    const timer = setTimeout(() => socket.destroy(), ANSWER_MS)
    socket.setEncoding('utf8')
    socket.on('error', () => {})
    socket.on('data', (chunk: string) => {
      text += chunk
      if (text.length > MAX_ANSWER_LENGTH) socket.destroy()
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(readOwner(text))
    })
    return promise
  }
}

function lockOf(server: Server): OwnerLock {
  return {
    release() {
      if (server.listening) server.close()
    },
  }
}

const PROGRAM = 'node-proxy'
const MAX_COMMAND = 1_024

/**
 * The line with which an owner answers. A long command is cut, so that the line is shorter than `MAX_ANSWER_LENGTH`,
 * even if JSON writes each of its characters as six.
 */
export function writeOwner(owner: LockOwner): string {
  return `${JSON.stringify({ program: PROGRAM, ...owner, command: owner.command.slice(0, MAX_COMMAND) })}\n`
}

/** The inverse of `writeOwner`. Undefined if the line was not written by a node-proxy. */
export function readOwner(line: string): LockOwner | undefined {
  const answer = parseJson(line)
  const pid = valueAt(answer, 'pid')
  if (!isJsonObject(answer) || stringAt(answer, 'program') !== PROGRAM) return undefined
  if (typeof pid !== 'number') return undefined
  const text = (name: keyof LockOwner) => stringAt(answer, name)
  return {
    pid,
    pidNamespace: text('pidNamespace'),
    since: text('since'),
    version: text('version'),
    task: text('task'),
    mode: text('mode'),
    command: text('command'),
  }
}

/**
 * The process that listens at an abstract name, by SO_PEERCRED; undefined without a listener or without SO_PEERCRED.
 */
function holderOf(name: string): LockHolder | undefined {
  const sys = openSyscalls()
  if (sys === undefined) return undefined
  const socket = sys.socket(AF_UNIX, SOCK.stream | SOCK.nonBlocking | SOCK.closeOnExec, 0)
  if (socket === -1) return undefined
  try {
    return credentialsOf(sys, socket, name)
  } finally {
    sys.close(socket)
  }
}

const AF_UNIX = 1
/** Offsets in the memory: a sockaddr_un, the length of the result, and a struct ucred. */
const AT = { address: 0, length: 112, credentials: 116 } as const
/** The size of the memory in bytes. */
const SIZE = 128
/** The size of `struct ucred`. */
const CREDENTIALS_BYTES = 12

/** The credentials of the process at the other end (SO_PEERCRED), after connecting to its abstract name. */
function credentialsOf(sys: Syscalls, socket: number, name: string): LockHolder | undefined {
  const { address, bytes, view } = sys.allocate(SIZE)
  view.setUint16(AT.address, AF_UNIX, true)
  // The family (2 bytes), the NUL that begins an abstract name, and the name.
  const length = 2 + bytes.write(`\0${name}`, AT.address + 2, 'utf8')
  if (sys.connect(socket, address, length) !== 0) return undefined
  view.setUint32(AT.length, CREDENTIALS_BYTES, true)
  const [level, option] = OPTION.peerCredentials
  const at = (offset: number) => address + BigInt(offset)
  if (sys.getsockopt(socket, level, option, at(AT.credentials), at(AT.length)) !== 0) {
    return undefined
  }
  const pid = view.getInt32(AT.credentials, true)
  return { pid, uid: view.getUint32(AT.credentials + 4, true) }
}
