import { readFileSync } from 'node:fs'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { request as httpRequest } from '../../lib/http/node-http.ts'
import type { Answer, Repeats, RequestSpec } from './agent.ts'

/** Sends one HTTP request. Every outcome is an answer; the promise never rejects. */
export function sendRequest(request: RequestSpec): Promise<Answer> {
  const began = performance.now()
  const ms = (): number => Math.round((performance.now() - began) * 10) / 10
  return exchange(request, ms).catch((error: NodeJS.ErrnoException) => failure(error, ms()))
}

/** Rejects if the request cannot be made, for example because the files of the account are missing. */
async function exchange(
  { url, from, timeoutMs, asAccount }: RequestSpec,
  ms: () => number,
): Promise<Answer> {
  const before = readSynCounters()
  let repeats: Repeats = { lost: 0, metTimeWait: 0 }
  return new Promise((resolve) => {
    const options: RequestOptions = {
      agent: false,
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(timeoutMs),
      ...(from === undefined ? {} : { localAddress: from }),
      ...(asAccount === true && accountOptions()),
    }
    const sent = url.startsWith('https:') ? httpsRequest(url, options) : httpRequest(url, options)
    sent.on('socket', (socket) =>
      socket.once('connect', () => {
        repeats = repeatsBetween(before, readSynCounters())
      }),
    )
    sent.on('error', (error) => resolve(failure(error, ms())))
    sent.on('response', (response) => {
      const { remoteAddress: address = '' } = response.socket
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        body += text
      })
      response.on('error', (error) => resolve(failure(error, ms())))
      response.on('end', () => {
        const { statusCode: status = 0 } = response
        resolve({ kind: 'answered', ms: ms(), status, body, address, ...repeats })
      })
    })
    sent.end()
  })
}

function failure(error: NodeJS.ErrnoException, ms: number): Answer {
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return { kind: 'silent', ms }
  const code = error.code ?? error.message
  return code === 'ECONNREFUSED' ? { kind: 'refused', ms } : { kind: 'failed', ms, code }
}

/** The folder in which a Pod finds the token of its account, and the authority of the API server. */
export const ACCOUNT_FILES = '/var/run/secrets/orch.io/serviceaccount'

/** The options of a request that is sent as the account of the Pod: its token, and the authority of the API server. */
export function accountOptions(): RequestOptions {
  const token = readFileSync(`${ACCOUNT_FILES}/token`, 'utf8')
  const authorization = `Bearer ${token}`
  return {
    ca: readFileSync(`${ACCOUNT_FILES}/ca.crt`),
    headers: { connection: 'close', authorization },
  }
}

/** TCP counters of this process's network namespace. They show whether a packet was lost, or the machine was only busy. */
export interface SynCounters {
  /** SYN packets that were sent again. */
  readonly repeated: number
  readonly resets: number
}

export function readSynCounters(): SynCounters {
  return {
    repeated: counterIn(readFileSync('/proc/self/net/netstat', 'utf8'), 'TcpExt', 'TCPSynRetrans'),
    resets: counterIn(readFileSync('/proc/self/net/snmp', 'utf8'), 'Tcp', 'OutRsts'),
  }
}

/**
 * Why SYNs were repeated while a connection was made. Each reset that the kernel sent explains one repeated SYN, since
 * without an answer there is nothing to reset.
 */
export function repeatsBetween(before: SynCounters, after: SynCounters): Repeats {
  const repeated = after.repeated - before.repeated
  const metTimeWait = Math.min(repeated, after.resets - before.resets)
  return { lost: repeated - metTimeWait, metTimeWait }
}

/** A counter in a text with two lines for each protocol, names and values. 0: the text does not have it. */
export function counterIn(text: string, protocol: string, name: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith(`${protocol}:`))
  const column = names?.split(' ').indexOf(name) ?? -1
  return column < 0 ? 0 : Number(values?.split(' ')[column])
}
