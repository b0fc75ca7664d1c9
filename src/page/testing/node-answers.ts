import type { ServerResponse } from 'node:http'
import {
  changeOf,
  entriesOf,
  explanationOf,
  serviceOf,
  statusOf,
  trafficOf,
} from './fake-answers.ts'

/** Answers a request of a path. */
export type Answer = (query: URLSearchParams, response: ServerResponse) => void

/** The data of a made-up node. */
export interface MadeNode {
  readonly services: number
  readonly nameOf: (index: number) => string
  /** The present readers of changes. */
  readonly readers: Set<ServerResponse>
}

/** What a node answers, by the path below `inspection/v1/`. */
export function nodeAnswers({
  services,
  nameOf,
  readers,
}: MadeNode): Readonly<Record<string, Answer>> {
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

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

export function sendLines(response: ServerResponse, values: readonly unknown[]): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  response.end(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
}

/** The latency of a change: mostly some twenty milliseconds, for some ten times as long; deterministic. */
function latencyOf(index: number): number {
  const chance = Math.abs(Math.sin(index * 12.9898) * 43_758.5453) % 1
  return 9 * Math.exp(3.2 * chance ** 2.2) + (index % 149 === 71 ? 240 : 0)
}
