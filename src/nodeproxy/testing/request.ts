import { request } from 'node:http'

export interface Answer {
  readonly code: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** One request of a test over a connection of its own. */
export function ask(
  url: string,
  options: { method?: string; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: options.method ?? 'GET', agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () =>
        resolve({ code: response.statusCode, headers: response.headers, body }),
      )
    })
    sent.on('error', reject)
    sent.end(options.body)
  })
}
