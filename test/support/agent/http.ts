import { request as secured } from 'node:https'
import { request as plain } from '../../../src/lib/http/node-http.ts'
import type { HttpReply, HttpRequest } from './protocol.ts'

/** One HTTP request from inside the namespace, on a connection of its own. */
export function exchange(wanted: HttpRequest): Promise<HttpReply> {
  const request = wanted.ca === undefined ? plain : secured
  return new Promise((resolve, reject) => {
    const sent = request(wanted.url, {
      method: wanted.method ?? 'GET',
      headers: { connection: 'close', ...authorization(wanted), ...wanted.headers },
      timeout: wanted.timeoutMs ?? 60_000,
      ...(wanted.ca === undefined ? {} : { ca: wanted.ca }),
      ...certificate(wanted),
      agent: false,
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error('timeout')))
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const headers: Record<string, string> = {}
        for (const [name, value] of Object.entries(response.headers)) headers[name] = String(value)
        resolve({
          status: response.statusCode ?? 0,
          headers,
          body: Buffer.concat(chunks).toString(),
        })
      })
    })
    sent.end(wanted.body)
  })
}

function authorization({ credential }: HttpRequest): Record<string, string> {
  if (credential === undefined || !('token' in credential)) return {}
  return { authorization: `Bearer ${credential.token}` }
}

function certificate({ credential }: HttpRequest): { cert?: string; key?: string } {
  return credential === undefined || 'token' in credential ? {} : credential
}
