import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readPageFiles } from '../serving/page-files.ts'
import { sendPageFile } from '../serving/send-page-file.ts'
import {
  changeOf,
  entriesOf,
  explanationOf,
  serviceOf,
  statusOf,
  trafficOf,
} from './fake-answers.ts'

/** A node-proxy as a browser sees it: the page's files and its paths, with Services that are made up. */
export interface FakeNode {
  readonly url: string
  /** Paths with queries, in the order of the requests. */
  readonly requests: readonly string[]
  /** A change of a Service, for those who read changes now. */
  change(index: number, latencyMs: number): void
  close(): Promise<void>
}

/** What a fake is like. */
export interface FakeNodeOptions {
  readonly services: number
  /** Names that the first Services have instead of their own. */
  readonly names?: readonly string[]
}

export async function startFakeNode({ services, names = [] }: FakeNodeOptions): Promise<FakeNode> {
  const pages = await readPageFiles()
  const requests: string[] = []
  const readers = new Set<ServerResponse>()
  const nameOf = (index: number) => names[index] ?? serviceOf(index).service
  const answers = answersOf({ services, nameOf, readers })
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    requests.push(request.url ?? '')
    const answer = answers[pathname.replace('/inspection/v1/', '')]
    if (answer !== undefined && pathname.startsWith('/inspection/v1/')) {
      answer(searchParams, response)
    } else if (!sendPageFile({ request, response }, pages, pathname.slice(1))) {
      response.writeHead(404).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    change(index, latencyMs) {
      const line = `${JSON.stringify(changeOf(nameOf(index), Date.now(), latencyMs))}\n`
      for (const reader of readers) reader.write(line)
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type Answer = (query: URLSearchParams, response: ServerResponse) => void

interface Made {
  readonly services: number
  readonly nameOf: (index: number) => string
  readonly readers: Set<ServerResponse>
}

function answersOf({ services, nameOf, readers }: Made): Readonly<Record<string, Answer>> {
  const indexes = Array.from({ length: services }, (_, index) => index)
  const selected = (query: URLSearchParams) => {
    const wanted = query.get('service') ?? ''
    return wanted === '' ? indexes : indexes.filter((index) => nameOf(index) === wanted)
  }
  return {
    status: (_, response) => sendJson(response, statusOf(services)),
    services: (_, response) =>
      sendLines(
        response,
        indexes.map((index) => ({ ...serviceOf(index), service: nameOf(index) })),
      ),
    entries: (query, response) =>
      sendLines(
        response,
        selected(query).flatMap((index) => entriesOf(index, nameOf(index))),
      ),
    traffic: (query, response) =>
      sendLines(
        response,
        selected(query).map((index) => trafficOf(index, nameOf(index), Date.now())),
      ),
    changes: (_, response) => {
      const first = indexes.slice(0, 600).map((index) => {
        return changeOf(nameOf(index), Date.now() - (600 - index) * 3_000, latencyOf(index))
      })
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      response.write(first.map((one) => `${JSON.stringify(one)}\n`).join(''))
      readers.add(response)
      response.once('close', () => readers.delete(response))
    },
    explain: (query, response) => {
      const destination = query.get('destination') ?? ''
      if (destination.includes(':')) sendJson(response, explanationOf(query))
      else {
        const message = `DESTINATION "${destination}": add the port, as in 10.0.0.1:80`
        sendJson(response, { code: 'NP_NODEPROXY_USAGE', message }, 400)
      }
    },
  }
}

function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sendLines(response: ServerResponse, values: readonly unknown[]): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  response.end(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
}

/** Most changes take some twenty milliseconds, some ten times as long: the same ones each time. */
function latencyOf(index: number): number {
  const chance = Math.abs(Math.sin(index * 12.9898) * 43_758.5453) % 1
  return 9 * Math.exp(3.2 * chance ** 2.2) + (index % 149 === 71 ? 240 : 0)
}
