import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { accountOptions } from './account-options.ts'
import type { Answer, RequestSpec } from './protocol.ts'
import { type Repeats, readSynCounters, repeatsBetween } from './syn-counters.ts'

/** Sends one HTTP request. Every outcome is an answer; the promise never rejects. */
export function sendRequest({ url, from, timeoutMs, asAccount }: RequestSpec): Promise<Answer> {
  const began = performance.now()
  const before = readSynCounters()
  let repeats: Repeats = { lost: 0, metTimeWait: 0 }
  const ms = (): number => Math.round((performance.now() - began) * 10) / 10
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
