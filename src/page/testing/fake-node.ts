import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readPageFiles } from '../serving/page-files.ts'
import { sendPageFile } from '../serving/send-page-file.ts'
import { changeOf, serviceOf } from './fake-answers.ts'
import { nodeAnswers } from './node-answers.ts'

/** A node-proxy as a browser sees it: the files of the page and its API, with made-up Services. */
export interface FakeNode {
  readonly url: string
  /** Paths with queries, in the order of the requests. */
  readonly requests: readonly string[]
  /** Sends a change of a Service to the present readers of changes. */
  change(index: number, latencyMs: number): void
  close(): Promise<void>
}

/** The properties of a fake node. */
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
  const answers = nodeAnswers({ services, nameOf, readers })
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
