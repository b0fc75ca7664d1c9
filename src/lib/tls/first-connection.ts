import type { Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Clock } from '../clock.ts'
import type { IpAddress } from '../ip.ts'

/** The certificates by which both ends of a connection verify each other. All PEM. */
export interface TlsTrust {
  /** The authority that signs the certificate of the server. */
  readonly ca: string
  /** The certificate of the client, if it presents one. */
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

export interface ConnectionTarget {
  /** At least one. */
  readonly addresses: readonly IpAddress[]
  readonly port: number
  readonly trust: TlsTrust
  readonly connect: (address: IpAddress, port: number) => Socket
  /**
   * Returns why the connection to a server is refused; undefined: it is accepted. If this function is given, it decides
   * instead of the TLS verification by the authority, whose result is `authorized` of the socket.
   */
  readonly refuse?: ((socket: TLSSocket) => Error | undefined) | undefined
}

/** Why the server at an address was not reached or could not be read; the error has a `code`. */
export interface FailedAttempt {
  readonly address: IpAddress
  readonly error: Error
}

export interface FirstConnection {
  readonly address: IpAddress
  readonly socket: TLSSocket
  /** The addresses to which no connection was made. */
  readonly failed: readonly FailedAttempt[]
}

/** Milliseconds for a connection, including its TLS handshake, regardless of the number of addresses. */
export const CONNECT_MS = 5000

/** Addresses that are tried for one node. A kubelet registers two, one of each IP version. */
export const MAX_ADDRESSES = 4

/**
 * Milliseconds until the next address is tried in parallel with one that does not answer, as RFC 8305 (5) recommends.
 */
const NEXT_ADDRESS_MS = 250

/** Code of a connection that was not established in time; other codes are those of the system and of TLS. */
export const LATE_CONNECTION = 'CONNECTION_LATE'

/**
 * The first TLS connection that is established to one of the addresses; or why none was. The next address is tried
 * when one has failed, or in parallel with one that does not answer. The server must present a certificate of the
 * authority for the address, or one that `refuse` accepts. No part of a request is sent before that, so no request is sent twice.
 */
export async function firstConnection(
  target: ConnectionTarget,
  { clock, signal }: { readonly clock: Pick<Clock, 'after'>; readonly signal?: AbortSignal },
): Promise<FirstConnection | readonly FailedAttempt[]> {
  const race = startRace(target, clock)
  const late = Object.assign(new Error('too late'), { code: LATE_CONNECTION })
  const cancel = clock.after(CONNECT_MS, () => race.end(late))
  const stop = (): void => race.end(new Error('the request has ended'))
  signal?.addEventListener('abort', stop)
  if (signal?.aborted === true) stop()
  const result = await race.result
  cancel()
  signal?.removeEventListener('abort', stop)
  return result
}

function startRace(target: ConnectionTarget, clock: Pick<Clock, 'after'>) {
  const { promise, resolve } = Promise.withResolvers<FirstConnection | readonly FailedAttempt[]>()
  const untried = target.addresses.values()
  const failed: FailedAttempt[] = []
  const running = new Set<TLSSocket>()
  let isOver = false
  const end = (why?: Error): void => {
    isOver = true
    for (const socket of running) socket.destroy(why)
  }
  const tryNext = (): void => {
    const { value: address } = isOver ? {} : untried.next()
    if (address !== undefined) attempt(address)
    else if (running.size === 0) resolve(failed)
  }
  const attempt = (address: IpAddress): void => {
    const socket = openTls(address, target)
    let error = new Error('the connection ended without an answer')
    running.add(socket)
    const cancel = clock.after(NEXT_ADDRESS_MS, tryNext)
    const forget = (): void => {
      cancel()
      running.delete(socket)
    }
    socket.on('error', (cause: Error) => {
      error = cause
    })
    socket.once('close', () => {
      if (!running.has(socket)) return
      forget()
      failed.push({ address, error })
      tryNext()
    })
    socket.once('secureConnect', () => {
      const refused = target.refuse?.(socket)
      if (refused !== undefined) return void socket.destroy(refused)
      forget()
      resolve({ address, socket, failed: [...failed] })
      end()
    })
  }
  tryNext()
  return { result: promise, end }
}

function openTls(
  address: IpAddress,
  { port, trust, connect, refuse }: ConnectionTarget,
): TLSSocket {
  const socket = connect(address, port)
  const rejectUnauthorized = refuse === undefined
  return connectTls({ socket, host: address, minVersion: 'TLSv1.2', rejectUnauthorized, ...trust })
}
