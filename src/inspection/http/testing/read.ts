import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** What a server answered. */
export interface Answer {
  readonly code: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What a test varies of a request. */
interface Options {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One request over a connection of its own. */
export async function read(url: string, { method = 'GET', headers = {} }: Options = {}) {
  const sent = request(url, { method, headers, agent: false })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const answer: Answer = {
    code: response.statusCode,
    headers: response.headers,
    body: await text(response),
  }
  return answer
}
