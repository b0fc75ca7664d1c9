import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import type { TlsMaterial } from '../../../src/client/connection/connection.ts'
import type { OrchServerProcess } from '../orchserver/orch-server-process.ts'

export interface Attempt {
  readonly body?: string | Buffer
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer; `text` is everything that was received. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a server HTTPS that no library would send; the server knows the sender as an administrator. */
export interface Attacker {
  /** One request on a connection of its own. */
  call(method: string, path: string, attempt?: Attempt): Promise<Answer>
  /** Opens a connection on which anything can be sent. */
  open(): Promise<TLSSocket>
  /** Opens a TCP connection without the TLS handshake for which the server waits. */
  openHalf(): Promise<Socket>
  /** Sends a text, and returns everything that the server sends until it closes the connection. */
  say(text: string): Promise<string>
}

/** An attacker with the credentials of the kubeconfig. */
export async function createAttacker(server: OrchServerProcess): Promise<Attacker> {
  return attackerWith(server, await definedMaterial(server))
}

/** An attacker without the client certificate of the kubeconfig. */
export async function createAnonymous(server: OrchServerProcess): Promise<Attacker> {
  const { ca } = await definedMaterial(server)
  return attackerWith(server, ca === undefined ? {} : { ca })
}

/** The certificates and the key of the kubeconfig. */
async function definedMaterial({ connection }: OrchServerProcess): Promise<Material> {
  const { ca, cert, key }: Partial<TlsMaterial> = (await connection.tls?.material()) ?? {}
  const own = cert === undefined || key === undefined ? {} : { cert, key }
  return ca === undefined ? own : { ca, ...own }
}

interface Material {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

function attackerWith({ url }: OrchServerProcess, secure: Material): Attacker {
  const { hostname: host, port } = new URL(url)
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ host, port: Number(port), ...secure })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    return socket
  }
  return {
    open,
    openHalf: async () => {
      const socket = connectPlain(Number(port), host)
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    },
    call: async (method, path, { body, type = 'application/json', headers = {} } = {}) => {
      const length = {
        'content-type': type,
        'content-length': String(Buffer.byteLength(body ?? '')),
      }
      const sent = body === undefined ? headers : { ...length, ...headers }
      const options = { host, port, method, path, headers: sent, agent: false as const, ...secure }
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request(options, resolve).on('error', reject).end(body)
      })
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }
    },
    say: async (text) => heard(await open(), text),
  }
}

async function heard(socket: Socket, text: string): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(text)
  await ended(socket)
  return Buffer.concat(chunks).toString()
}

/** Resolves when a connection is closed, for whatever reason. */
export function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', () => resolve())
  })
}
