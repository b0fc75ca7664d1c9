import { Pool } from 'undici'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import type { SubjectName } from '../../report/auth/results.ts'
import type { LastReport } from './report.ts'
import { startServer } from './server-process.ts'

const CONNECTIONS = 8

/** The cost of some requests. */
export interface Taken {
  readonly count: number
  readonly seconds: number
  /** Processor seconds of the server, all threads; the kernel counts hundredths. */
  readonly cpuSeconds: number
}

/** One server in a process of its own, which disposal kills, with clients that keep their connections. */
export interface Subject extends Disposable {
  /** Sends `count` requests over all connections, one after the other on each. */
  measure(count: number, request: (index: number) => Sent): Promise<Taken>
  close(): Promise<LastReport>
}

export interface Sent {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

/** `folder` gets the server's data. */
export async function startSubject(name: SubjectName, folder: string): Promise<Subject> {
  const server = await startServer(name, folder)
  const { pid, url, ca, token, cert, key } = server.report
  const pool = new Pool(url, {
    connections: CONNECTIONS,
    connect: { ca, ...(cert !== undefined && key !== undefined && { cert, key }) },
  })
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const send = async ({ method, path, body }: Sent): Promise<void> => {
    const answer = await pool.request({ method, path, headers, ...(body && { body }) })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path}: ${answer.statusCode} ${text}`)
  }
  return {
    async measure(count, request) {
      let next = 0
      const [cpu, began] = [cpuSeconds(pid), performance.now()]
      const client = async (): Promise<void> => {
        while (next < count) await send(request(next++))
      }
      await Promise.all(Array.from({ length: CONNECTIONS }, client))
      const seconds = (performance.now() - began) / 1_000
      return { count, seconds, cpuSeconds: cpuSeconds(pid) - cpu }
    },
    async close() {
      await pool.close()
      return server.close()
    },
    [Symbol.dispose]: () => server[Symbol.dispose](),
  }
}
