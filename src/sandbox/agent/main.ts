import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { createInterface } from 'node:readline'
import { accountOptions } from './account-options.ts'
import type { AgentReply, AgentRequest, Answer, RequestSpec } from './protocol.ts'
import { type Repeats, readSynCounters, repeatsBetween } from './syn-counters.ts'

/**
 * The sandbox's agent inside one namespace: sends requests on command. Ends when
 * its standard input does, so that it never outlives the sandbox.
 */
function main(): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => void answer(JSON.parse(line) as AgentRequest))
  lines.on('close', () => process.exit(0))
  write({ ready: true })
}

async function answer({ id, request }: AgentRequest): Promise<void> {
  write({ id, answer: await sendRequest(request) })
}

function write(reply: AgentReply): void {
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}

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

main()
