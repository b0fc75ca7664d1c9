import { connect, createServer, type Server } from 'node:net'
import type { LockAttempt, LockOwner, OwnerLock, OwnerLocks } from './owner-lock.ts'
import { readOwner, writeOwner } from './owner-text.ts'
import { holderOf } from './socket-holder.ts'

const ANSWER_MS = 2_000
const MAX_ANSWER_BYTES = 4_096
/** Concurrent clients; more are not answered. */
const MAX_QUESTIONS = 16

/**
 * The lock is a Unix socket in the abstract name space: the kernel keeps such names by network
 * namespace, grants each to one socket, and frees it when the process ends, after SIGKILL too. No file
 * is involved. The owner answers each connection with one line about itself.
 */
export class SocketLocks implements OwnerLocks {
  readonly #name: string

  constructor(name = 'node-proxy') {
    this.#name = name
  }

  /** Once more without an answer: the owner may have ended in between. */
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

  /** Undefined when the name is taken. */
  #listen(owner: () => LockOwner): Promise<Server | undefined> {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.setTimeout(ANSWER_MS, () => socket.destroy())
      socket.end(writeOwner(owner()))
    })
    server.maxConnections = MAX_QUESTIONS
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

  #request(): Promise<LockOwner | undefined> {
    const { promise, resolve } = Promise.withResolvers<LockOwner | undefined>()
    const socket = connect(`\0${this.#name}`)
    let text = ''
    const timer = setTimeout(() => socket.destroy(), ANSWER_MS)
    socket.setEncoding('utf8')
    socket.on('error', () => {})
    socket.on('data', (chunk: string) => {
      text += chunk
      if (text.length > MAX_ANSWER_BYTES) socket.destroy()
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
