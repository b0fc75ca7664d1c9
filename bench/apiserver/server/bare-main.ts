import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'

/**
 * The limit of Node alone: an HTTPS server that answers `GET /BYTES` with that number of prepared bytes. A watch gets
 * the body of every PATCH, padded to the size of an event.
 */
const [, , pki = '.'] = process.argv
const EVENT_BYTES = 1_100

const bodies = new Map<string, Buffer>()
const watchers = new Set<ServerResponse>()

const server = createServer(
  {
    cert: readFileSync(join(pki, 'server.crt')),
    key: readFileSync(join(pki, 'server.key')),
    noDelay: true,
  },
  (request, response) => {
    if (request.method === 'PATCH') void notifyAll(request, response)
    else if (request.url?.includes('watch=1')) hold(response)
    else if (request.url?.includes('limit=1')) response.end('{"metadata":{"resourceVersion":"1"}}')
    else answer(request.url ?? '/0', response)
  },
)

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})

function answer(url: string, response: ServerResponse): void {
  const body = bodies.get(url) ?? Buffer.alloc(Number(url.slice(1)), 'x')
  bodies.set(url, body)
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

function hold(response: ServerResponse): void {
  watchers.add(response)
  response.once('close', () => watchers.delete(response))
  response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders()
}

async function notifyAll(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const event = Buffer.from(`${await text(request)}\n`)
  for (const watcher of watchers) watcher.write(event)
  response.end('{}')
}

async function text(request: IncomingMessage): Promise<string> {
  return (await buffer(request)).toString().padEnd(EVENT_BYTES)
}
